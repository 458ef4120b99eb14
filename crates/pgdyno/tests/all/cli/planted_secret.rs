//! A password is planted wherever one can be given, everything is done that keeps, prints or fails,
//! and then it is looked for in all that is left.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::support::{Ran, connect, ended, pgdyno, rows, sql};

/// What all forms of the password have in common: plain, in SQL, in a connection string, in a URL.
const CORE: &str = "pl4ntedS3cretX";
/// With what needs quoting in each.
const PASSWORD: &str = "pl4ntedS3cretX' %41\\z";
const IN_URL: &str = "pl4ntedS3cretX%27%20%2541%5Cz";
const IN_CONNINFO: &str = "pl4ntedS3cretX\\' %41\\\\z";

/// Whether the password is in there, in whatever form; also in base64 at any offset.
fn is_in(bytes: &[u8]) -> bool {
    let encoded = (0..3).map(|offset| {
        let text = STANDARD.encode(format!("{}{CORE}", &"xx"[..offset]));
        // Without the characters that depend on what is before and after.
        text[if offset == 0 { 0 } else { 4 }..16].to_owned()
    });
    let mut forms = [CORE.to_owned()].into_iter().chain(encoded);
    forms.any(|form| bytes.windows(form.len()).any(|w| w == form.as_bytes()))
}

#[test]
fn the_search_finds_every_form() {
    for text in [
        PASSWORD.to_owned(),
        IN_URL.to_owned(),
        IN_CONNINFO.to_owned(),
        STANDARD.encode(PASSWORD),
        STANDARD.encode(format!("u:{PASSWORD}")),
        STANDARD.encode(format!("me:{PASSWORD}")),
        STANDARD.encode(format!("you:{PASSWORD}")),
    ] {
        assert!(is_in(text.as_bytes()), "{text}");
    }
    assert!(!is_in(b"pl4nted and S3cret"));
}

/// A server that asks for the password, and a place for all that pgdyno leaves.
struct Stage {
    server: pgdyno_server::Server,
    root: tempfile::TempDir,
    /// Where the password is planted in files; not looked into.
    planted: tempfile::TempDir,
    port: String,
    /// Command lines seen of pgdyno's children.
    children: std::cell::RefCell<BTreeSet<String>>,
}

impl Stage {
    fn new() -> Stage {
        let server = pgdyno_testkit::postgres_with(&[]);
        let admin = server.address().url();
        let quoted = PASSWORD.replace('\'', "''");
        for statement in [
            format!(
                "SET log_statement = 'none'; CREATE ROLE me SUPERUSER LOGIN PASSWORD '{quoted}'"
            ),
            "CREATE DATABASE bench OWNER me".to_owned(),
            "CREATE DATABASE notes OWNER me".to_owned(),
        ] {
            statement.split("; ").for_each(|one| sql(&admin, one));
        }
        // A server that repeats what it knows: as dblink does with a connection string.
        let bench = admin.replace("@/postgres?", "@/bench?");
        sql(
            &bench,
            &format!(
                "CREATE TABLE known (conninfo text, url text, n int); \
                 INSERT INTO known VALUES ('password=' || '{quoted}', 'postgresql://me:{IN_URL}@h', 0); \
                 GRANT ALL ON known TO me; \
                 CREATE FUNCTION repeat_it() RETURNS int LANGUAGE plpgsql AS $$ DECLARE k known; BEGIN \
                 SELECT * INTO k FROM known; RAISE NOTICE 'connecting with %', k.conninfo; \
                 RAISE EXCEPTION 'could not connect to %', k.conninfo \
                 USING DETAIL = k.url, HINT = k.conninfo; END $$"
            ),
        );
        let rules = "COPY (SELECT 'local all all trust' UNION ALL \
                     SELECT 'host all all all scram-sha-256') TO ";
        let file = rows(&mut connect(&admin), "SHOW hba_file").remove(0);
        sql(&admin, &format!("{rules}'{file}'"));
        sql(&admin, "SELECT pg_reload_conf()");
        let port = rows(&mut connect(&admin), "SHOW port").remove(0);
        Stage {
            server,
            root: tempfile::tempdir().unwrap(),
            planted: tempfile::tempdir().unwrap(),
            port,
            children: Default::default(),
        }
    }

    fn beside(&self, name: &str) -> String {
        self.root.path().join(name).display().to_string()
    }

    fn plant(&self, name: &str, text: &str) -> PathBuf {
        let path = self.planted.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    fn url(&self, database: &str) -> String {
        format!(
            "postgresql://me:{IN_URL}@127.0.0.1:{}/{database}",
            self.port
        )
    }

    /// The address without a password.
    fn bare(&self) -> String {
        format!("host=127.0.0.1 port={} user=me dbname=bench", self.port)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = pgdyno(args);
        command
            .env("HOME", self.root.path().join("home"))
            .env("XDG_DATA_HOME", self.root.path().join("data"))
            .env("TMPDIR", self.root.path())
            .env("PGDYNO_STORE", self.beside("notebook.sqlite"))
            .current_dir(self.root.path());
        command
    }

    /// Runs it to its end with an eye on its children; the password must not be in what it prints.
    #[track_caller]
    fn ran(&self, command: &mut Command) -> Ran {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let pid = child.id();
        let over = std::sync::atomic::AtomicBool::new(false);
        let (output, seen) = std::thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                let mut seen = BTreeSet::new();
                while !over.load(std::sync::atomic::Ordering::SeqCst) {
                    command_lines_below(pid, &mut seen);
                    std::thread::sleep(std::time::Duration::from_millis(2));
                }
                seen
            });
            let output = child.wait_with_output().unwrap();
            over.store(true, std::sync::atomic::Ordering::SeqCst);
            (output, watcher.join().unwrap())
        });
        self.children.borrow_mut().extend(seen);
        assert!(
            !is_in(&output.stdout) && !is_in(&output.stderr),
            "{output:?}"
        );
        ended(output)
    }

    /// It must not go well, and say this.
    #[track_caller]
    fn fails(&self, args: &[&str], text: &str) {
        let failed = self.pgdyno(args);
        assert_ne!(failed.code, Some(0), "{failed:?}");
        assert!(failed.stderr.contains(text), "{failed:?}");
    }

    #[track_caller]
    fn pgdyno(&self, args: &[&str]) -> Ran {
        self.ran(&mut self.command(args))
    }
}

fn command_lines_below(pid: u32, seen: &mut BTreeSet<String>) {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return;
    };
    for task in tasks.flatten() {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace() {
            let words = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
            // Until it has begun its program, a child still shows the command line of its parent.
            if !words.is_empty()
                && words != fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()
            {
                seen.insert(String::from_utf8_lossy(&words).replace('\0', " "));
            }
            command_lines_below(child.parse().unwrap(), seen);
        }
    }
}

#[track_caller]
fn assert_in_no_file_below(folder: &Path) -> usize {
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        assert!(!is_in(path.as_os_str().as_encoded_bytes()), "{path:?}");
        if path.is_dir() {
            count += assert_in_no_file_below(&path)
        } else {
            assert!(!is_in(&fs::read(&path).unwrap()), "{}", path.display());
            count += 1;
        }
    }
    count
}

/// An endpoint with one metric for those who log in; gives its port.
fn metrics() -> u16 {
    use std::io::{BufRead, BufReader, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // It ends with the process of the tests.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let head: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
            let knows = |line: &String| line.to_ascii_lowercase().starts_with("authorization:");
            let (status, body) = if head.iter().any(knows) {
                ("200 OK", "node_load1 0.5\n")
            } else {
                ("401 Unauthorized", "")
            };
            let length = body.len();
            let _ = write!(
                &stream,
                "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
        }
    });
    port
}

#[test]
fn a_planted_password_is_found_nowhere_after_a_whole_life() {
    let stage = Stage::new();
    let good = stage.beside("good.sql");
    fs::write(&good, "SELECT 1;\nUPDATE known SET n = n + 1;\n").unwrap();
    let bad = stage.beside("bad.sql");
    fs::write(&bad, "SELECT repeat_it();\n").unwrap();
    let role = stage.beside("role.sql");
    fs::write(&role, "ALTER ROLE nobody_here PASSWORD ':new_password';\n").unwrap();
    let shell = stage.beside("shell.sql");
    fs::write(&shell, "\\shell sleep 0.1\nSELECT 1;\n").unwrap();
    let short = ["--observe", "none"];

    // Each way to give it works: the server asks for it.
    let json = format!("--json={}", stage.beside("one.json"));
    let url = stage.url("bench");
    let run = ["run", &good, "-t", "3", "-vv", &json, "--url", &url];
    stage.pgdyno(&run).expect(0, &["(3 committed"]);
    let conninfo = format!("{} password='{IN_CONNINFO}'", stage.bare());
    let load = ["load", "tpcb", "--url", &conninfo];
    stage.pgdyno(&load).expect(0, &[]);
    let bare = stage.bare();
    let run = ["run", "select-only", "-t", "3", "--url", &bare];
    let run = [&run[..], &short].concat();
    let by_variable = &mut stage.command(&run);
    stage
        .ran(by_variable.env("PGPASSWORD", PASSWORD))
        .expect(0, &["(3 committed"]);
    let escaped = PASSWORD.replace('\\', "\\\\").replace(':', "\\:");
    let file = stage.plant("pass", &format!("*:*:*:me:{escaped}\n"));
    let by_file = &mut stage.command(&run);
    stage
        .ran(by_file.env("PGPASSFILE", &file))
        .expect(0, &["(3 committed"]);
    let file = stage.plant("services", &format!("[mine]\npassword={PASSWORD}\n"));
    let by_service = &mut stage.command(&run);
    by_service
        .env("PGSERVICEFILE", &file)
        .env("PGSERVICE", "mine");
    stage.ran(by_service).expect(0, &["(3 committed"]);

    // Servers that repeat it, in errors, notices and statements.
    let run = [
        "run",
        &bad,
        "-c",
        "2",
        "-t",
        "3",
        "--continue-on-error",
        "--url",
        &url,
    ];
    let failed = stage.pgdyno(&run);
    let said = [failed.stdout.as_str(), &failed.stderr].concat();
    assert!(
        said.contains("could not connect to password=***"),
        "{failed:?}"
    );
    let param = format!("--param=new_password={PASSWORD}");
    let run = ["run", &role, "-t", "1", &param, "--url", &url];
    let failed = stage.pgdyno(&run);
    assert_ne!(failed.code, Some(0), "{failed:?}");
    let pgbench = [
        "pgbench", "-n", "-t", "2", "-f", &bad, "--debug", "--store", "-d", &url,
    ];
    let failed = stage.pgdyno(&pgbench);
    assert!(
        failed.stderr.contains("could not connect to password=***"),
        "{failed:?}"
    );

    // What is not let in, and what is not there.
    let wrong = url.replace(IN_URL, &format!("not{IN_URL}"));
    let refused = "password authentication failed for user \"me\"";
    stage.fails(&["run", &good, "-t", "1", "--url", &wrong], refused);
    stage.fails(&["pgbench", "-n", "-t", "1", "-S", "-d", &wrong], refused);
    stage.fails(&["target", &wrong], refused);
    let nowhere = url.replace(&format!(":{}/", stage.port), ":1/");
    stage.fails(&["run", &good, "-t", "1", "--url", &nowhere], "refused");
    let broken = url.replace("/bench", "/bench?sslmode=none");
    stage.fails(&["run", &good, "-t", "1", "--url", &broken], "sslmode");
    let store = ["ls", "--store", &wrong];
    assert_ne!(stage.pgdyno(&store).code, Some(0));

    // Everything else that runs. A child's command line has nothing of it.
    let run = ["run", &shell, "--allow-shell", "-t", "2", "--url", &url];
    stage.pgdyno(&run).expect(0, &["(2 committed"]);
    let port = metrics();
    let scrape = format!("--scrape=its=http://me:{IN_URL}@127.0.0.1:{port}/metrics");
    let scraped = ["run", &good, "-R", "50", "-T", "2", &scrape, "--url", &url];
    stage.pgdyno(&scraped).expect(0, &[]);
    let experiment = stage.beside("e.toml");
    let text = "workload = 'good.sql'\ntransactions = 2\nclients = [1, 2]\n";
    fs::write(&experiment, text).unwrap();
    stage
        .pgdyno(&["sweep", &experiment, "--url", &url])
        .expect(0, &["2 of 2 trials"]);
    let lab = "lab retries -c 2 -T 200ms --repeat 1 --forms statements,cte --url";
    let lab: Vec<&str> = lab.split_whitespace().chain([url.as_str()]).collect();
    stage.pgdyno(&lab).expect(0, &[]);
    let calibrate = [
        "calibrate",
        &url,
        "-T",
        "200ms",
        "--only-baseline",
        "--name",
        "here",
    ];
    // How fast it is does not matter.
    let calibrated = stage.pgdyno(&calibrate);
    assert!(calibrated.stdout.contains("round trip"), "{calibrated:?}");

    // A notebook on a server.
    let notes = stage.url("notes");
    stage.pgdyno(&["store", "init", &notes]).expect(0, &[]);
    let run = [
        "run",
        &bad,
        "-t",
        "2",
        "--continue-on-error",
        "--url",
        &url,
        "--store",
        &notes,
    ];
    let kept = stage.pgdyno(&run);
    assert!(kept.stdout.contains("kept as trial 1"), "{kept:?}");
    stage
        .pgdyno(&["show", "1", "--store", &notes, "--json"])
        .expect(0, &[]);
    let copy = stage.beside("copy.sqlite");
    stage
        .pgdyno(&["export", "1", "--store", &notes, "-o", &copy])
        .expect(0, &[]);

    // And all that shows what was kept, which also reads what is compressed.
    let page = stage.beside("page.html");
    for args in [
        &["ls"][..],
        &["show", "1"],
        &["report", "1", "-o", &page],
        &["compare", "2", "3"],
        &["sql", "SELECT command, spec FROM trial"],
        &["rerun", "1", "--url", &url],
    ] {
        stage.pgdyno(args).expect(0, &[]);
    }
    let count = stage
        .pgdyno(&["sql", "SELECT max(number) FROM trial"])
        .stdout;
    let last: u32 = count
        .split_whitespace()
        .filter_map(|w| w.parse().ok())
        .max()
        .unwrap();
    assert!(last >= 10, "{count}");
    for number in 1..=last {
        stage.pgdyno(&["show", &number.to_string(), "--json"]);
    }

    let files = assert_in_no_file_below(stage.root.path());
    assert!(files > 6, "{files}");
    let children = stage.children.borrow();
    assert!(
        children.iter().any(|line| line.contains("sleep")),
        "{children:?}"
    );
    for line in children.iter() {
        assert!(!is_in(line.as_bytes()), "{line}");
    }
    let notes = stage
        .server
        .address()
        .url()
        .replace("@/postgres?", "@/notes?");
    let mut notes = connect(&notes);
    let tables = rows(
        &mut notes,
        "SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) FROM pg_tables \
         WHERE schemaname NOT IN ('pg_catalog', 'information_schema')",
    );
    assert!(tables.len() > 5, "{tables:?}");
    for table in tables {
        let hex: String = CORE.bytes().map(|b| format!("{b:02x}")).collect();
        let found = format!(
            "SELECT count(*) FROM {table} t WHERE t::text LIKE '%{CORE}%' OR t::text LIKE '%{hex}%'"
        );
        assert_eq!(rows(&mut notes, &found), ["0"], "{table}");
    }
}
