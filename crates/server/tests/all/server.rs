//! A real server of pgdyno's own, started, stopped, and killed in every way.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pgdyno_platform::file_system::{self, Kind};
use pgdyno_server::{Error, Listen, Options, Server, Setting, Step};

/// A directory that the server's user can reach.
pub(crate) fn place() -> tempfile::TempDir {
    pgdyno_testkit::home()
}

pub(crate) fn options(parent: &Path) -> Options {
    Options {
        bindir: Some(pgdyno_testkit::installation().bindir.clone()),
        cache: Some(pgdyno_testkit::cache()),
        data_parent: Some(parent.to_path_buf()),
        ..Options::default()
    }
}

fn settings(texts: &[&str]) -> Vec<Setting> {
    texts
        .iter()
        .map(|text| text.parse().expect("valid"))
        .collect()
}

pub(crate) fn quiet(_: Step) {}

/// Names in a parent directory, without pgdyno's own lock.
pub(crate) fn left_in(parent: &Path) -> Vec<String> {
    fs::read_dir(parent)
        .expect("exists")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name != ".pgdyno-lock")
        .collect()
}

/// Process ids of all processes that work in `data_dir`, as all of a server's do.
pub(crate) fn processes_of(data_dir: &Path) -> Vec<u32> {
    fs::read_dir("/proc")
        .expect("mounted")
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let cwd = fs::read_link(entry.path().join("cwd")).ok()?;
            (cwd == data_dir).then_some(pid)
        })
        .collect()
}

pub(crate) fn within(limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < limit {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

#[test]
fn a_server_starts_takes_connections_and_leaves_nothing() {
    let parent = place();
    let mut steps = Vec::new();
    let server =
        Server::start(&options(parent.path()), &mut |step| steps.push(step)).expect("it starts");
    assert!(steps.ends_with(&[Step::Initialising, Step::Starting]));
    assert!(server.is_running());
    UnixStream::connect(server.address().socket_path()).expect("it listens");
    assert_eq!(server.address().loopback_url(), None);
    assert!(server.version().major >= 12);
    let kind = file_system::kind(parent.path()).expect("exists");
    assert_eq!(server.data_in_memory(), kind == Kind::Memory);
    let data_dir = server.data_dir();
    assert!(processes_of(&data_dir).contains(&server.pid()));
    let mode = fs::metadata(&server.address().socket_dir)
        .expect("exists")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700, "the socket is the user's alone");
    server.stop().expect("it stops");
    assert_eq!(processes_of(&data_dir), [0u32; 0]);
    assert_eq!(left_in(parent.path()), [""; 0]);
}

#[test]
fn a_dropped_server_leaves_nothing() {
    let parent = place();
    let server = Server::start(&options(parent.path()), &mut quiet).expect("it starts");
    let data_dir = server.data_dir();
    drop(server);
    assert_eq!(processes_of(&data_dir), [0u32; 0]);
    assert_eq!(left_in(parent.path()), [""; 0]);
}

/// What a running server answers to `SHOW name`, by way of `postgres -C` on its files, so that
/// no client is needed.
fn shown(server: &Server, name: &str) -> String {
    let data_dir = server.data_dir();
    let config = data_dir.with_file_name("postgresql.conf");
    let mut command = Command::new(server.installation().program("postgres"));
    command
        .current_dir("/")
        .arg("-C")
        .arg(name)
        .arg("-D")
        .arg(&data_dir)
        .arg("-c")
        .arg(format!("config_file={}", config.display()));
    if pgdyno_platform::user::is_root() {
        let owner = std::os::unix::fs::MetadataExt::uid(&fs::metadata(&data_dir).expect("exists"));
        let user = pgdyno_platform::user::User::with_uid(owner).expect("readable");
        pgdyno_platform::user::run_as(&mut command, &user.expect("exists"));
    }
    let output = command.output().expect("postgres runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_string()
}

#[test]
fn settings_take_effect_and_durability_is_on_without_them() {
    let parent = place();
    let mut options = options(parent.path());
    let server = Server::start(&options, &mut quiet).expect("it starts");
    for name in ["fsync", "synchronous_commit", "full_page_writes"] {
        assert_eq!(shown(&server, name), "on", "{name}");
    }
    assert_eq!(shown(&server, "max_connections"), "1000");
    assert_eq!(shown(&server, "listen_addresses"), "");
    drop(server);

    options.settings = settings(&[
        "max_connections=17",
        "fsync=off",
        "search_path=\"a 'b\", \"c\\d\"",
    ]);
    let server = Server::start(&options, &mut quiet).expect("it starts");
    assert_eq!(shown(&server, "max_connections"), "17");
    assert_eq!(shown(&server, "fsync"), "off");
    assert_eq!(shown(&server, "search_path"), "\"a 'b\", \"c\\d\"");
}

#[test]
fn a_setting_the_server_does_not_like_shows_its_words_and_leaves_nothing() {
    let parent = place();
    for (setting, word) in [
        ("no_such_setting=1", "no_such_setting"),
        ("shared_buffers=lots", "shared_buffers"),
    ] {
        let mut options = options(parent.path());
        options.settings = settings(&[setting]);
        let error = Server::start(&options, &mut quiet).expect_err(setting);
        assert!(matches!(error, Error::Start { .. }), "{error}");
        assert!(error.to_string().contains(word), "{error}");
        assert_eq!(left_in(parent.path()), [""; 0]);
    }
}

#[test]
fn an_interrupt_ends_the_start_and_leaves_nothing() {
    let parent = place();
    let mut options = options(parent.path());
    options.interrupted = || true;
    let error = Server::start(&options, &mut quiet).expect_err("interrupted");
    assert!(matches!(error, Error::Interrupted), "{error}");
    assert_eq!(left_in(parent.path()), [""; 0]);
}

#[test]
fn a_server_also_listens_on_loopback_on_request() {
    let parent = place();
    let mut options = options(parent.path());
    options.listen = Listen::Loopback(0);
    let server = Server::start(&options, &mut quiet).expect("it starts");
    let port = server.address().port;
    std::net::TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    UnixStream::connect(server.address().socket_path()).expect("it listens");
    let url = server.address().loopback_url().expect("it listens");
    assert!(url.contains(&format!("127.0.0.1:{port}/")), "{url}");

    options.listen = Listen::Loopback(port);
    let error = Server::start(&options, &mut quiet).expect_err("the port is taken");
    assert!(error.to_string().contains("choose another"), "{error}");
}

#[test]
fn a_deep_directory_does_not_break_the_socket() {
    let parent = place();
    let deep = parent.path().join("deep".repeat(25));
    let server = Server::start(&options(&deep), &mut quiet).expect("it starts");
    UnixStream::connect(server.address().socket_path()).expect("it listens");
    assert!(server.address().socket_path().as_os_str().len() <= 107);
}

#[test]
fn a_forbidden_place_is_named() {
    let options = options(Path::new("/proc/no/place"));
    let error = Server::start(&options, &mut quiet).expect_err("not in /proc");
    assert!(error.to_string().contains("\"/proc/no/place\""), "{error}");
}

#[test]
fn a_place_that_the_servers_user_cannot_reach_is_explained() {
    let this_test = "a_place_that_the_servers_user_cannot_reach_is_explained";
    if !pgdyno_platform::user::is_root() {
        pgdyno_testkit::skip!(this_test, "only root runs the server as another user");
    }
    let parent = place();
    fs::set_permissions(parent.path(), fs::Permissions::from_mode(0o700)).expect("ours");
    let error = Server::start(&options(parent.path()), &mut quiet).expect_err("unreachable");
    assert!(error.to_string().contains("get through"), "{error}");
    assert_eq!(left_in(parent.path()), [""; 0]);
}

/// Set when the test below is run by itself with a small disk mounted there.
const SMALL_DISK: &str = "PGDYNO_TEST_SMALL_DISK";

#[test]
fn a_full_disk_is_named_with_the_way_out_and_leaves_nothing() {
    let this_test = "a_full_disk_is_named_with_the_way_out_and_leaves_nothing";
    if let Some(disk) = std::env::var_os(SMALL_DISK) {
        let error = Server::start(&options(Path::new(&disk)), &mut quiet).expect_err("too small");
        assert!(error.to_string().contains("The disk is full."), "{error}");
        assert!(error.to_string().contains("PGDYNO_CACHE"), "{error}");
        assert_eq!(left_in(Path::new(&disk)), [""; 0]);
        return;
    }
    let disk = place();
    // In a mount namespace of its own, so that nothing has to be undone.
    let mount = "mount -t tmpfs -o size=8m,mode=755 tmpfs \"$1\" || exit 99; shift; exec \"$@\"";
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", mount, "sh"])
        .arg(disk.path())
        .arg(std::env::current_exe().expect("known"))
        .args(["--exact", &format!("server::{this_test}"), "--nocapture"])
        .env(SMALL_DISK, disk.path())
        .output();
    match output {
        Ok(output) if output.status.success() => {}
        Ok(output) if output.status.code() == Some(101) => panic!("{output:?}"),
        _ => pgdyno_testkit::skip!(this_test, "only root can mount a small disk"),
    }
}

#[test]
fn a_server_that_ends_by_itself_is_noticed() {
    let parent = place();
    let server = Server::start(&options(parent.path()), &mut quiet).expect("it starts");
    let signal = pgdyno_platform::child::Signal::Kill;
    pgdyno_platform::child::send_signal(server.pid(), signal).expect("ours");
    assert!(within(Duration::from_secs(5), || !server.is_running()));
}

/// Set when the test below is run by itself as the process that is killed.
const VICTIMS_PARENT_DIR: &str = "PGDYNO_TEST_VICTIMS_PARENT_DIR";

/// Starts a server, tells where its data are, and waits for the end.
fn be_the_victim(parent: &Path) {
    let server = Server::start(&options(parent), &mut quiet).expect("it starts");
    println!("data {}", server.data_dir().display());
    std::thread::sleep(Duration::from_secs(120));
}

#[test]
fn a_killed_pgdyno_takes_its_server_along_and_the_next_sweeps_the_rest() {
    if let Some(parent) = std::env::var_os(VICTIMS_PARENT_DIR) {
        return be_the_victim(Path::new(&parent));
    }
    let parent = place();
    let this_test = "a_killed_pgdyno_takes_its_server_along_and_the_next_sweeps_the_rest";
    let mut victim = Command::new(std::env::current_exe().expect("known"))
        .args(["--exact", &format!("server::{this_test}"), "--nocapture"])
        .env(VICTIMS_PARENT_DIR, parent.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the victim starts");
    let lines = BufReader::new(victim.stdout.take().expect("piped")).lines();
    let data_dir = lines
        .map_while(std::result::Result::ok)
        .find_map(|line| Some(line.split_once("data ")?.1.to_string()))
        .expect("the victim tells where its server is");
    let data_dir = Path::new(&data_dir);
    assert!(
        processes_of(data_dir).len() > 3,
        "a server and its children"
    );

    victim.kill().expect("ours"); // SIGKILL
    victim.wait().expect("ours");
    let all_gone = within(Duration::from_secs(10), || {
        processes_of(data_dir).is_empty()
    });
    assert!(all_gone, "left: {:?}", processes_of(data_dir));

    assert_eq!(left_in(parent.path()).len(), 1, "its directory is left");
    let server = Server::start(&options(parent.path()), &mut quiet).expect("it starts");
    assert!(!data_dir.exists(), "and swept by the next");
    drop(server);
    assert_eq!(left_in(parent.path()), [""; 0]);
}
