//! A team's notebook whose server is stopped, full, or refuses, while trials run: nothing is lost, and
//! what is measured does not wait for it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use pgdyno_platform::child::{Signal, send_signal};
use pgdyno_server::Server;

use crate::child::{Running, wait_until};
use crate::cli::team::Team;
use crate::support::{self, Database, ran};

#[test]
fn a_notebook_whose_server_is_down_for_a_while_has_every_second_at_the_end() {
    let server = pgdyno_testkit::postgres_with(&[]);
    let team = Team::of(Database::on(&server, "notes"), "notes");
    let running = team.run("12");
    send_signal(server.pid(), Signal::Interrupt).unwrap();
    wait_until("the server's end", || !server.is_running());
    team.pgdyno(&["ls"]).expect(1, &["cannot open the store"]);
    std::thread::sleep(Duration::from_secs(6));
    server.restart().unwrap();
    let ran = running.ended().expect(0, &["kept as trial 1"]);
    assert!(!ran.stderr.contains("waits on this host"), "{ran:#?}");
    team.is_whole("complete", 12);
    team.has_what_was_reported();
}

/// A small disk where the server's user may write; unmounted when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None` where mounting is not allowed.
    fn of(server: &Server, at: &Path) -> Option<SmallDisk> {
        fs::create_dir(at).unwrap();
        let owner = fs::metadata(server.data_dir()).unwrap();
        let options = format!("size=24m,mode=700,uid={},gid={}", owner.uid(), owner.gid());
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(at);
        let is_mounted = mount.output().is_ok_and(|output| output.status.success());
        is_mounted.then(|| SmallDisk(at.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

/// A way in which a server refuses rows: what does it, what ends it, what is said.
struct Way<'a> {
    name: &'a str,
    refuse: &'a (dyn Fn() + Sync),
    allow: &'a (dyn Fn() + Sync),
    says: &'a str,
}

#[test]
fn rows_that_a_server_refuses_wait_and_are_sent() {
    let folder = tempfile::Builder::new().tempdir_in("/var/tmp").unwrap();
    let all_users = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.path(), all_users).unwrap();
    let server = &pgdyno_testkit::postgres_with(&[]);
    let admin = &server.address().url();
    let sql = |statements: &str| support::sql(admin, statements);
    let disk = SmallDisk::of(server, &folder.path().join("disk"));
    if disk.is_none() {
        let name = "rows_that_a_server_refuses_wait_and_are_sent";
        pgdyno_testkit::record_skip(name, "the case of a full disk: no disk can be mounted here");
    }
    let hba = server.data_dir().join("pg_hba.conf");
    let trusting = fs::read_to_string(&hba).unwrap();
    let rules = std::sync::Mutex::new(Vec::<(&str, &str)>::new());
    let rule = |role: &'static str, method: Option<&'static str>| {
        let mut rules = rules.lock().unwrap();
        rules.retain(|(of, _)| *of != role);
        rules.extend(method.map(|method| (role, method)));
        let lines = rules.iter();
        let lines = lines.map(|(role, method)| format!("local all {role} {method}\n"));
        let text = lines.collect::<String>() + &trusting;
        fs::write(&hba, text).unwrap();
        sql("SELECT pg_reload_conf()");
    };
    let filler = folder.path().join("disk/filler");
    let ways = [
        Way {
            name: "is_limited",
            refuse: &|| sql("ALTER ROLE is_limited CONNECTION LIMIT 0"),
            allow: &|| sql("ALTER ROLE is_limited CONNECTION LIMIT -1"),
            says: "too many connections for role",
        },
        Way {
            name: "is_rejected",
            refuse: &|| rule("is_rejected", Some("reject")),
            allow: &|| rule("is_rejected", None),
            says: "pg_hba.conf rejects connection",
        },
        Way {
            name: "has_another_password",
            refuse: &|| rule("has_another_password", Some("scram-sha-256")),
            allow: &|| rule("has_another_password", None),
            says: "password authentication failed",
        },
        Way {
            name: "is_read_only",
            refuse: &|| sql("ALTER ROLE is_read_only SET default_transaction_read_only = on"),
            allow: &|| sql("ALTER ROLE is_read_only RESET default_transaction_read_only"),
            says: "cannot execute INSERT in a read-only transaction",
        },
        Way {
            name: "is_full",
            refuse: &|| {
                // Writes until there is no room.
                let mut file = fs::File::create(&filler).unwrap();
                while std::io::Write::write_all(&mut file, &[b'x'; 4096]).is_ok() {}
            },
            allow: &|| fs::remove_file(&filler).unwrap(),
            says: "No space left on device",
        },
    ];
    std::thread::scope(|scope| {
        let ways = ways.iter();
        for way in ways.filter(|way| way.name != "is_full" || disk.is_some()) {
            let folder = folder.path();
            scope.spawn(move || refused(server, folder, way));
        }
    });
}

fn refused(server: &Server, folder: &Path, way: &Way<'_>) {
    let (admin, name) = (server.address().url(), way.name);
    if name == "is_full" {
        let disk = folder.join("disk").display().to_string();
        support::sql(
            &admin,
            &format!("CREATE TABLESPACE small LOCATION '{disk}'"),
        );
        support::sql(&admin, "CREATE DATABASE is_full TABLESPACE small");
    } else {
        support::sql(&admin, &format!("CREATE DATABASE {name}"));
    }
    let url = admin.replace("@/postgres?", &format!("@/{name}?"));
    let mut team = Team::of(Database { url }, name);
    team.notes.sql(&format!(
        "CREATE ROLE {name} LOGIN PASSWORD 'right'; \
         GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA public TO {name}"
    ));
    team.url = team.url.replace("postgres@", &format!("{name}:wrong@"));
    let running = team.run("5");
    (way.refuse)();
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = ";
    team.notes.sql(&format!("{end}'{name}'"));
    let said = [
        "trial 1 waits on this host: ",
        way.says,
        "pgdyno store push",
    ];
    running.ended().expect(0, &said);
    team.pgdyno(&["store", "push"]).expect(1, &[way.says]);
    (way.allow)();
    team.pgdyno(&["store", "push"]).expect(0, &["1 trial sent"]);
    team.is_whole("complete", 5);
    team.has_what_was_reported();
}

/// A sweep of two trials whose notebook refuses all sessions before the second, waited for so long.
fn away_before_a_trial(name: &str, wait: &str) -> (Team, Running) {
    let team = Team::of(Database::new(name), name);
    let home = team.home.path();
    fs::write(home.join("one.sql"), "SELECT 1;\n").unwrap();
    let text =
        "workload = [['one.sql']]\ntransactions = 20\nclients = [1, 2]\nreset.settle = '3s'\n";
    fs::write(home.join("two.toml"), text).unwrap();
    let target = pgdyno_testkit::postgres().address().url();
    let file = home.join("two.toml").display().to_string();
    let mut sweep = team.command(&["sweep", &file, "--url", &target]);
    sweep.envs(pgdyno_testkit::own_cache(&home.join("cache")));
    let running = Running::start(sweep.env("PGDYNO_STORE_WAIT", wait));
    team.notes
        .wait_for("SELECT 1 FROM trial WHERE state = 'complete'");
    team.refuse();
    (team, running)
}

#[test]
fn a_notebook_that_is_away_before_a_trial_is_waited_for() {
    let (team, running) = away_before_a_trial("team_waited_for", "");
    std::thread::sleep(Duration::from_secs(7));
    team.allow(true);
    running.ended().expect(0, &["2 of 2 trials complete"]);
    let complete = "SELECT count(*) FROM trial WHERE state = 'complete'";
    assert_eq!(team.notes.value(complete), "2");
}

#[test]
fn a_notebook_that_stays_away_before_a_trial_is_not_waited_for_any_longer() {
    let (team, running) = away_before_a_trial("team_not_waited_for", "1s");
    let said = [
        "cannot write to the store",
        "not currently accepting connections",
    ];
    running.ended().expect(1, &said);
    team.allow(true);
    let counts = "SELECT count(*) FROM trial";
    assert_eq!(team.notes.value(counts), "1");
    let mut odd = team.command(&["ls"]);
    ran(odd.env("PGDYNO_STORE_WAIT", "soon")).expect(2, &["PGDYNO_STORE_WAIT=soon: a duration"]);
}

/// A folder with psql and createdb.
fn client_programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path);
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let debian = debian.flatten().map(|major| major.path().join("bin"));
    let mut found = found.chain(debian);
    found.find(|folder| folder.join("psql").exists() && folder.join("createdb").exists())
}

#[test]
fn five_lines_of_the_documentation_lead_from_a_file_to_a_teams_notebook() {
    let Some(programs) = client_programs() else {
        let name = "five_lines_of_the_documentation_lead_from_a_file_to_a_teams_notebook";
        pgdyno_testkit::skip!(name, "there is no psql");
    };
    let text = include_str!("../../../../../docs/store.md");
    let (_, section) = text.split_once("\n## A team's notebook\n").unwrap();
    let lines = section
        .split("```")
        .nth(1)
        .unwrap()
        .strip_prefix("sh\n")
        .unwrap();
    assert_eq!(lines.lines().count(), 5, "{lines}");
    let server = pgdyno_testkit::postgres_with(&[]);
    let admin = server.address().url();
    support::sql(&admin, "CREATE ROLE bench LOGIN");
    let notes = admin.replace("@/postgres?", "@/notes?");
    let lines = lines
        .replace(" -h notes", &format!(" --maintenance-db='{admin}'"))
        .replace(
            &format!("psql --maintenance-db='{admin}' notes"),
            &format!("psql '{notes}'"),
        )
        .replace("postgresql://me@notes/notes", &format!("'{notes}'"))
        .replace(
            "postgresql://bench@notes/notes",
            &notes.replace("postgres@", "bench@"),
        )
        .replace("PGDYNO_STORE=", "PGDYNO_STORE='")
        .replace("                  # for every", "' # for every");
    let home = tempfile::tempdir().unwrap();
    let script = home.path().join("one.sql");
    fs::write(&script, "SELECT 1;\n").unwrap();
    let script = script.display();
    let program = Path::new(env!("CARGO_BIN_EXE_pgdyno")).parent().unwrap();
    let target = pgdyno_testkit::postgres().address().url();
    let run = format!("pgdyno run {script} -t 20 --url '{target}'");
    // A trial in the file; the five lines; a trial of the role's own, and the list of both.
    let all = format!(
        "set -ex\n{run} --note before\n{lines}\n{run} --note after\npgdyno ls\npgdyno store check\n\
         pgdyno note 1 mine"
    );
    let path = std::env::join_paths([program, &programs, Path::new("/usr/bin"), Path::new("/bin")]);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &all])
        .env_clear()
        .env("PATH", path.unwrap());
    shell
        .env("XDG_DATA_HOME", home.path())
        .env("HOME", home.path());
    let said = [
        "kept as trial 1",
        "made a notebook at postgresql://",
        "GRANT",
        "1 trial copied to postgresql://",
        "kept as trial 2",
        "trials    2",
        "allowed   SELECT, INSERT\nrefused   UPDATE, DELETE",
        "permission denied for table trial_begun",
    ];
    ran(&mut shell).expect(1, &said);
}
