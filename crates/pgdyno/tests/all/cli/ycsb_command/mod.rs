//! `pgdyno ycsb` and `pgdyno go-ycsb` on a real PostgreSQL, beside recordings of YCSB 0.18 (JDBC
//! binding, pgJDBC 42.7.4) and go-ycsb (2024) on the same workloads.

mod failures;
mod measurements;
mod shape;

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::support::{Database, Ran, pgdyno, ran};
use shape::{go_properties_left_out, only_of_java_left_out, shape};

/// The keys of 1000 rows that YCSB loaded, in their order, as one MD5.
const JAVA_KEYS: &str = "1000|09f175d5e132de73f062aff8f8e7da96|100|100";
const GO_KEYS: &str = "1000|56dd5eb29328c4f1d0452d31f4c6b5f3|100|100";
/// How they are asked for, with the lengths of fields.
const KEYS: &str = "SELECT count(*), md5(string_agg(ycsb_key, ',' ORDER BY ycsb_key COLLATE \"C\")), \
                    min(length(field9)), max(length(field0)) FROM usertable";
/// The table that YCSB's manual tells to make.
const BY_HAND: &str = "CREATE TABLE usertable (YCSB_KEY VARCHAR(255) PRIMARY KEY, FIELD0 TEXT, \
    FIELD1 TEXT, FIELD2 TEXT, FIELD3 TEXT, FIELD4 TEXT, FIELD5 TEXT, FIELD6 TEXT, FIELD7 TEXT, \
    FIELD8 TEXT, FIELD9 TEXT)";

/// A database, and workload files as the tools ship them.
struct Place {
    db: Database,
    folder: TempDir,
    socket: String,
    port: String,
    user: String,
    name: &'static str,
}

impl Place {
    fn new(name: &'static str) -> Self {
        let db = Database::new(name);
        let (head, query) = db.url.split_once('?').unwrap();
        let of = |key: &str| {
            let mut pairs = query.split('&');
            let value = pairs.find_map(|pair| pair.strip_prefix(&format!("{key}=")));
            value.unwrap_or_default().to_owned()
        };
        let user = head.split("//").nth(1).unwrap().split('@').next().unwrap();
        let (socket, port) = (of("host").replace('/', "%2F"), of("port"));
        let (user, folder) = (user.to_owned(), tempfile::tempdir().unwrap());
        let place = Self {
            db,
            folder,
            socket,
            port,
            user,
            name,
        };
        for (letter, shares, distribution) in [
            ("a", "readproportion=0.5\nupdateproportion=0.5", "zipfian"),
            ("c", "readproportion=1\nupdateproportion=0", "zipfian"),
            (
                "d",
                "readproportion=0.95\nupdateproportion=0\ninsertproportion=0.05",
                "latest",
            ),
            (
                "e",
                "readproportion=0\nupdateproportion=0\nscanproportion=0.95\ninsertproportion=0.05\n\
                 maxscanlength=100\nscanlengthdistribution=uniform",
                "zipfian",
            ),
            (
                "f",
                "readproportion=0.5\nupdateproportion=0\nreadmodifywriteproportion=0.5",
                "zipfian",
            ),
        ] {
            let text = format!(
                "# Workload {letter}\nrecordcount=1000\noperationcount=1000\n\
                 workload=site.ycsb.workloads.CoreWorkload\n\nreadallfields=true\n{shares}\n\
                 requestdistribution={distribution}\n"
            );
            fs::write(place.workload(letter), text).unwrap();
        }
        place
    }

    fn workload(&self, letter: &str) -> PathBuf {
        self.folder.path().join(format!("workload{letter}"))
    }

    /// `pgdyno ycsb VERB jdbc -P workloadLETTER ARGS` there.
    fn ycsb(&self, verb: &str, letter: &str, args: &[&str]) -> Ran {
        let mut command = pgdyno(&["ycsb", verb, "jdbc", "-P"]);
        ran(command
            .arg(self.workload(letter))
            .args(self.jdbc())
            .args(args))
    }

    fn jdbc(&self) -> Vec<String> {
        let Self {
            socket,
            port,
            user,
            name,
            ..
        } = self;
        let url = format!("db.url=jdbc:postgresql://{socket}:{port}/{name}");
        let pairs = [
            "db.driver=org.postgresql.Driver".to_owned(),
            url,
            format!("db.user={user}"),
        ];
        pairs
            .into_iter()
            .flat_map(|pair| ["-p".to_owned(), pair])
            .collect()
    }

    /// `pgdyno go-ycsb VERB pg -P workloadLETTER ARGS` there.
    fn go(&self, verb: &str, letter: &str, args: &[&str]) -> Ran {
        let Self {
            socket,
            port,
            user,
            name,
            ..
        } = self;
        let mut command = pgdyno(&["go-ycsb", verb, "pg", "-P"]);
        command.arg(self.workload(letter));
        let socket = socket.replace("%2F", "/");
        for pair in [
            format!("pg.host={socket}"),
            format!("pg.port={port}"),
            format!("pg.user={user}"),
            format!("pg.db={name}"),
        ] {
            command.args(["-p", &pair]);
        }
        ran(command.args(args))
    }
}

/// Operations of a line `[NAME], Operations, N`.
fn count(ran: &Ran, name: &str) -> u64 {
    let before = format!("[{name}], Operations, ");
    let line = ran
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix(&before));
    line.unwrap_or_else(|| panic!("no {before}: {ran:#?}"))
        .parse()
        .unwrap()
}

#[test]
fn results_have_the_lines_of_ycsbs_recordings() {
    let place = Place::new("ycsb_lines");
    let load = place
        .ycsb("load", "a", &["-threads", "3", "-s"])
        .expect(0, &["pgdyno: created usertable"]);
    let recorded = only_of_java_left_out(include_str!("recorded/ycsb-load.out"));
    assert_eq!(
        shape(&load.stdout.replace(&place.name_of_url(), "URL")),
        shape(&recorded)
    );
    assert_eq!(place.db.value(KEYS), JAVA_KEYS);

    // Three threads do not divide a thousand operations.
    let run = place.ycsb("run", "f", &["-threads", "2", "-p", "operationcount=999"]);
    let run = run.expect(0, &[]);
    let recorded = only_of_java_left_out(include_str!("recorded/ycsb-run-f.out"));
    assert_eq!(
        shape(&run.stdout.replace(&place.name_of_url(), "URL")),
        shape(&recorded)
    );
    let (reads, both) = (count(&run, "READ"), count(&run, "READ-MODIFY-WRITE"));
    assert_eq!((reads, count(&run, "UPDATE")), (999, both));
    assert!((350..650).contains(&both), "{both}");
}

impl Place {
    /// The placeholder of the URL in the recordings.
    fn name_of_url(&self) -> String {
        let Self {
            socket, port, name, ..
        } = self;
        format!("jdbc:postgresql://{socket}:{port}/{name}")
    }
}

#[test]
fn status_lines_have_the_form_of_ycsbs_recordings() {
    let place = Place::new("ycsb_status");
    place.ycsb("load", "a", &[]).expect(0, &[]);
    let run = place.ycsb(
        "run",
        "a",
        &[
            "-threads",
            "2",
            "-target",
            "200",
            "-s",
            "-p",
            "status.interval=1",
            "-p",
            "maxexecutiontime=3",
            "-p",
            "operationcount=1000000",
            "-p",
            "measurement.interval=both",
        ],
    );
    let run = run.expect(0, &["Maximum execution time specified as: 3 secs"]);
    let recorded = only_of_java_left_out(include_str!("recorded/ycsb-both.out"));
    assert_eq!(
        shape(&run.stdout.replace(&place.name_of_url(), "URL")),
        shape(&recorded)
    );
    let recorded = include_str!("recorded/ycsb-status.err");
    // Dates, counts and words: the first line, one a second, the last one.
    let lines = |text: &str| {
        let lines = text
            .lines()
            .filter(|line| line.contains(" sec: ") || line.contains("aximum"));
        let shapes = lines.map(shape);
        let shapes = shapes.map(|line| line.replace("minutes", "minute").replace("hours", "hour"));
        let mut reported: Vec<String> = Vec::new();
        for shape in shapes {
            if !reported.contains(&shape) {
                reported.push(shape);
            }
        }
        reported
    };
    assert_eq!(lines(&run.stderr), lines(recorded));
    let operations = count(&run, "READ") + count(&run, "UPDATE");
    assert!((400..800).contains(&operations), "{operations}");
    assert_eq!(count(&run, "Intended-READ"), count(&run, "READ"));
}

#[test]
fn go_ycsbs_summaries_have_the_form_of_its_recordings() {
    let place = Place::new("ycsb_go");
    let load = place.go("load", "a", &["--threads", "3"]).expect(0, &[]);
    let recorded = include_str!("recorded/go-load.out");
    let ours = |ran: &Ran| shape(&go_properties_left_out(&ran.stdout));
    let theirs = |text: &str| shape(&go_properties_left_out(text));
    assert_eq!(ours(&load).replace("zipfian", "uniform"), theirs(recorded));
    assert_eq!(place.db.value(KEYS), GO_KEYS);
    assert!(
        load.stdout.contains("\n\"threadcount\"=\"3\"\n"),
        "{load:#?}"
    );

    let uniform = ["-p", "requestdistribution=uniform"];
    let run = place
        .go("run", "f", &[&["--threads=2"], &uniform[..]].concat())
        .expect(0, &[]);
    assert_eq!(ours(&run), theirs(include_str!("recorded/go-run-f.out")));
    assert!(run.stdout.contains(", Count: 1000, "), "{run:#?}");

    let args = [
        &[
            "--threads",
            "2",
            "--target",
            "200",
            "--interval",
            "1",
            "-p",
            "operationcount=600",
        ][..],
        &["-p", "outputstyle=table"][..],
        &uniform[..],
    ];
    let run = place.go("run", "a", &args.concat()).expect(0, &[]);
    let frame = |text: &str| {
        let rows = text
            .lines()
            .filter(|line| line.starts_with("| ") || line.contains("finished"));
        let first = rows.map(|line| line.split('|').nth(1).unwrap_or(line).to_owned());
        let mut first: Vec<String> = first.map(|cell| shape(&cell)).collect();
        first.dedup();
        // Those of the last table, with the line before it.
        first.split_off(first.len() - 5)
    };
    assert_eq!(
        frame(&run.stdout),
        frame(include_str!("recorded/go-table.out"))
    );
    let style = ["--threads", "2", "-p", "outputstyle=json"];
    let json = place.go("run", "a", &[&style[..], &uniform[..]].concat());
    let json = json.expect(0, &[]);
    // The properties name other hosts.
    let behind = |text: &str| {
        let text = go_properties_left_out(text);
        shape(text.rsplit("****\n").next().unwrap())
    };
    let recorded = include_str!("recorded/go-json.out");
    assert_eq!(behind(&json.stdout), behind(recorded));
    let rows: serde_json::Value =
        serde_json::from_str(json.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&rows[1]["Operation"], &rows[1]["Count"]),
        (&"TOTAL".into(), &"1000".into())
    );
}

/// Notes which keys are updated.
const WATCHED: &str = "CREATE TABLE asked (turn serial, ycsb_key text); \
    CREATE FUNCTION ask() RETURNS trigger LANGUAGE plpgsql AS \
    $$BEGIN INSERT INTO asked (ycsb_key) VALUES (NEW.ycsb_key); RETURN NEW; END$$; \
    CREATE TRIGGER ask BEFORE UPDATE ON usertable FOR EACH ROW EXECUTE FUNCTION ask()";

/// Key numbers: as recorded from go-ycsb on as many rows.
#[test]
fn go_ycsb_asks_for_the_keys_that_go_ycsb_asks_for() {
    let place = Place::new("ycsb_go_keys");
    let ordered = ["--threads", "1", "-p", "insertorder=ordered"];
    place.go("load", "c", &ordered).expect(0, &[]);
    place.db.sql(WATCHED);
    let updates = |pairs: &[&str]| {
        place.db.sql("TRUNCATE asked");
        let mut args = ordered.to_vec();
        for pair in [&["readproportion=0", "updateproportion=1"], pairs].concat() {
            args.extend(["-p", pair]);
        }
        place.go("run", "c", &args).expect(0, &[])
    };
    let hottest = "SELECT ycsb_key FROM asked GROUP BY 1 ORDER BY count(*) DESC LIMIT 1";
    updates(&["operationcount=3000"]);
    assert_eq!(place.db.value(hottest), "user144");

    // Twice the inserts of a run are asked for in advance, and most are not there.
    let run = updates(&["operationcount=3000", "insertproportion=1"]);
    assert!(
        run.stderr
            .contains(" operations found no row, which go-ycsb counts as done"),
        "{run:#?}"
    );

    updates(&["operationcount=3", "requestdistribution=sequential"]);
    let all = "SELECT string_agg(ycsb_key, ' ' ORDER BY turn) FROM asked";
    assert_eq!(place.db.value(all), "user1 user2 user3");
}

#[test]
fn ycsbs_generators_run_on_a_table_that_was_loaded_for_exact_draws() {
    let place = Place::new("ycsb_generators");
    let lengths = ["--param", "fieldlengthdistribution=zipfian"];
    let args = ["--quiet", "load", "ycsb", "--param", "recordcount=1000"];
    let url = ["--url", place.db.url.as_str()];
    ran(pgdyno(&args).args(lengths).args(url)).expect(0, &[]);
    for (distribution, operation) in [("latest", "SCAN"), ("exponential", "READ")] {
        let distribution = format!("requestdistribution={distribution}");
        let proportion = match operation {
            "SCAN" => "scanproportion=0.9",
            _ => "readproportion=0.9",
        };
        let mut args = Vec::new();
        for pair in [
            &*distribution,
            "readproportion=0",
            "updateproportion=0",
            "insertproportion=0.1",
            proportion,
            "maxscanlength=20",
            "scanlengthdistribution=zipfian",
            "fieldlengthdistribution=zipfian",
            "operationcount=500",
        ] {
            args.extend(["-p", pair]);
        }
        let run = place.ycsb("run", "a", &args).expect(0, &[]);
        let both = count(&run, operation) + count(&run, "INSERT");
        assert_eq!(both, 500, "{run:#?}");
        assert!(!run.stdout.contains("FAILED"), "{run:#?}");
    }
    let rows = place.db.value("SELECT count(*) > 1000 FROM usertable");
    assert_eq!(rows, "t");
}

#[test]
fn all_mixes_run_on_a_table_made_by_hand() {
    let place = Place::new("ycsb_by_hand");
    place.db.sql(BY_HAND);
    place.ycsb("load", "a", &["-threads", "4"]).expect(0, &[]);
    assert_eq!(place.db.value(KEYS), JAVA_KEYS);
    assert_eq!(
        place
            .db
            .value("SELECT obj_description('usertable'::regclass)"),
        "NULL"
    );
    let mut inserted = 0;
    for letter in ["a", "c", "d", "e", "f"] {
        let run = place.ycsb("run", letter, &["-threads", "3"]).expect(0, &[]);
        let all = ["READ", "UPDATE", "INSERT", "SCAN"].into_iter();
        let done: u64 = all
            .filter(|name| run.stdout.contains(&format!("[{name}], Op")))
            .map(|name| count(&run, name))
            .sum();
        let doubled = if letter == "f" {
            count(&run, "UPDATE")
        } else {
            0
        };
        assert_eq!(done - doubled, 1000, "{letter}: {run:#?}");
        assert!(!run.stdout.contains("FAILED"), "{letter}: {run:#?}");
        if ["d", "e"].contains(&letter) {
            inserted += count(&run, "INSERT");
        }
    }
    assert_eq!(
        place.db.value("SELECT count(*) FROM usertable"),
        (1000 + inserted).to_string()
    );
    for distribution in ["uniform", "hotspot", "exponential", "sequential"] {
        let distribution = format!("requestdistribution={distribution}");
        let run = place
            .ycsb("run", "c", &["-p", &distribution])
            .expect(0, &[]);
        assert_eq!(count(&run, "READ"), 1000);
    }
    // Keys of the other tool are not those of this table.
    let run = place.go("run", "c", &["--threads", "1"]);
    let run = run.expect(
        1,
        &[
            "loaded with keyformat = java, not go-ycsb",
            "DROP TABLE usertable",
        ],
    );
    assert!(!run.stderr.contains("--param"), "{run:#?}");
}

#[test]
fn parts_are_loaded_and_asked_for_by_their_numbers() {
    let place = Place::new("ycsb_parts");
    let part = |verb: &str, letter: &str, start: u64, count: u64, more: &[&str]| {
        let (start, count) = (
            format!("insertstart={start}"),
            format!("insertcount={count}"),
        );
        place.ycsb(
            verb,
            letter,
            &[&["-p", &start, "-p", &count], more].concat(),
        )
    };
    // The second part first, as another generator may do.
    part("load", "a", 600, 400, &[]).expect(0, &[]);
    part("load", "a", 0, 600, &["-threads", "7"]).expect(0, &[]);
    assert_eq!(place.db.value(KEYS), JAVA_KEYS);
    part("load", "a", 600, 400, &[]).expect(
        1,
        &["usertable has key number 600 (user", "TRUNCATE usertable"],
    );
    // Rows 900 to 999 are gone, and only others are asked for.
    place
        .ycsb("run", "c", &["-p", "requestdistribution=sequential"])
        .expect(0, &[]);
    place.db.sql(
        "CREATE TABLE gone AS SELECT ycsb_key FROM usertable; DELETE FROM usertable WHERE ycsb_key \
         NOT IN ('user6284781860667377211', 'user8517097267634966620')",
    );
    for distribution in ["sequential", "uniform", "hotspot"] {
        let distribution = format!("requestdistribution={distribution}");
        let run = part("run", "c", 0, 2, &["-p", &distribution]).expect(0, &[]);
        assert_eq!(count(&run, "READ"), 1000, "{distribution}");
    }
    place.ycsb("run", "c", &[]).expect(
        1,
        &["usertable has the keys number 0 to 1, and recordcount asks for those up to 999"],
    );
    place.db.sql("TRUNCATE usertable");
    place
        .ycsb("run", "c", &[])
        .expect(1, &["usertable has no rows"]);
}

#[test]
fn tables_of_the_users_own_are_loaded_and_run_by_name() {
    let place = Place::new("ycsb_own_tables");
    // In any order, with further columns, under other names.
    let mine = [
        "-p",
        "table=Mine",
        "-p",
        "fieldnameprefix=C",
        "-p",
        "fieldcount=2",
    ];
    place.db.sql(
        "CREATE TABLE mine (id serial, c1 text, ycsb_key varchar(64) PRIMARY KEY, c0 text, cat text, \
         made timestamptz DEFAULT now())",
    );
    place.ycsb("load", "a", &mine).expect(0, &[]);
    let rows = "SELECT count(*) FROM mine WHERE length(c0) = 100 AND length(c1) = 100 AND made IS NOT NULL";
    assert_eq!(place.db.value(rows), "1000");
    for letter in ["a", "e", "f"] {
        let run = place.ycsb("run", letter, &mine).expect(0, &[]);
        assert!(!run.stdout.contains("Return=ERROR"), "{run:#?}");
    }
    // A table that has more fields than are asked for.
    place.db.sql(BY_HAND);
    let two = ["-p", "fieldcount=2"];
    place.ycsb("load", "a", &two).expect(0, &[]);
    let rows = "SELECT count(*) FROM usertable WHERE length(field1) = 100 AND field2 IS NULL";
    assert_eq!(place.db.value(rows), "1000");
    place.ycsb("run", "a", &two).expect(0, &[]);
    // go-ycsb's flag; a table that is not there is made.
    let table = ["--table", "third"];
    place
        .go("load", "a", &table)
        .expect(0, &["pgdyno: created third"]);
    place
        .go("run", "a", &table)
        .expect(0, &["\"table\"=\"third\""]);
    place
        .ycsb("run", "a", &["-p", "table=nowhere"])
        .expect(1, &["relation \"nowhere\" does not exist"]);
}

#[test]
fn parts_of_a_table_by_hand_are_loaded_in_any_order_and_at_once() {
    let place = Place::new("ycsb_parts_by_hand");
    place.db.sql(BY_HAND);
    let load = |start: u64, count: u64| {
        let (start, count) = (
            format!("insertstart={start}"),
            format!("insertcount={count}"),
        );
        place.ycsb("load", "a", &["-p", &start, "-p", &count])
    };
    load(700, 300).expect(0, &[]);
    std::thread::scope(|scope| {
        let parts = [(0, 200), (200, 300), (500, 200)];
        let loads = parts.map(|(start, count)| scope.spawn(move || load(start, count)));
        for one in loads {
            one.join().unwrap().expect(0, &[]);
        }
    });
    assert_eq!(place.db.value(KEYS), JAVA_KEYS);
    let run = place.ycsb("run", "c", &[]).expect(0, &[]);
    assert_eq!(count(&run, "READ"), 1000);
}

#[test]
fn values_that_are_not_as_they_were_written_are_counted() {
    let place = Place::new("ycsb_verify");
    let whole = ["-p", "dataintegrity=true", "-p", "fieldlength=32"];
    place.ycsb("load", "a", &whole).expect(0, &[]);
    let returned = |ran: &Ran, name: &str, status: &str| {
        let before = format!("[{name}], Return={status}, ");
        let line = ran
            .stdout
            .lines()
            .find_map(|line| line.strip_prefix(&before));
        line.map_or(0, |count| count.parse::<u64>().unwrap())
    };
    for letter in ["a", "f"] {
        let run = place
            .ycsb("run", letter, &whole)
            .expect(0, &["Data integrity is enabled."]);
        let reads = returned(&run, "READ", "OK");
        assert!(reads > 300, "{run:#?}");
        assert_eq!(returned(&run, "VERIFY", "OK"), reads);
        assert_eq!(count(&run, "VERIFY"), reads);
        assert_eq!(returned(&run, "VERIFY", "UNEXPECTED_STATE"), 0);
    }
    let every = ["-p", "requestdistribution=sequential"];
    let each = [&whole[..], &every].concat();
    place.db.sql(
        "UPDATE usertable SET field1 = 'other', field7 = 'other' WHERE ycsb_key IN \
         (SELECT ycsb_key FROM usertable ORDER BY 1 LIMIT 50)",
    );
    let run = place.ycsb("run", "c", &each).expect(0, &[]);
    assert_eq!(returned(&run, "VERIFY", "UNEXPECTED_STATE"), 50);
    assert_eq!(returned(&run, "VERIFY", "OK"), 950);
    assert_eq!(returned(&run, "READ", "OK"), 1000);
    let one = [&each[..], &["-p", "readallfields=false"]].concat();
    let run = place.ycsb("run", "c", &one).expect(0, &[]);
    assert!(
        returned(&run, "VERIFY", "UNEXPECTED_STATE") < 50,
        "{run:#?}"
    );
    // A row that is gone was not verified.
    place.db.sql(
        "DELETE FROM usertable WHERE ycsb_key IN (SELECT ycsb_key FROM usertable WHERE ycsb_key <> \
         'user8517097267634966620' ORDER BY 1 DESC LIMIT 10)",
    );
    let run = place.ycsb("run", "c", &each);
    let missing = returned(&run, "READ", "NOT_FOUND");
    assert_eq!(returned(&run, "VERIFY", "ERROR"), missing, "{run:#?}");
}

#[test]
fn go_ycsb_writes_each_operation_and_counts_its_warmup() {
    let place = Place::new("go_ycsb_each");
    place.go("load", "a", &[]).expect(0, &[]);
    let file = place.folder.path().join("each");
    let to_file = format!("measurement.output_file={}", file.display());
    for kind in ["measurementtype=csv", "measurementtype=raw"] {
        place
            .go("run", "a", &["-p", kind, "-p", &to_file])
            .expect(0, &["Run finished, takes "]);
        let text = fs::read_to_string(&file).unwrap();
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("operation,timestamp_us,latency_us"));
        let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
        // Each once by its name, and once as one of all.
        assert_eq!(rows.len(), 2000, "{kind}");
        let total = rows.iter().filter(|row| row[0] == "TOTAL");
        assert_eq!(total.count(), 1000, "{kind}");
        for row in rows {
            assert!(["READ", "UPDATE", "TOTAL"].contains(&row[0]), "{row:?}");
            assert!(
                row[1].parse::<u64>().unwrap() > 1_600_000_000_000_000,
                "{row:?}"
            );
            assert!(row[2].parse::<u64>().unwrap() < 60_000_000, "{row:?}");
        }
    }
    let run = place
        .go("run", "c", &["-p", "measurementtype=csv"])
        .expect(0, &[]);
    let lines = run.stdout.lines().filter(|line| line.starts_with("READ,"));
    assert_eq!(lines.count(), 1000);
    let run = place.go("run", "c", &["-p", "warmuptime=2"]).expect(0, &[]);
    let takes = run
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("Run finished, takes "));
    let seconds = takes.unwrap().trim_end_matches('s');
    assert!(seconds.parse::<f64>().unwrap() >= 2.0, "{takes:?}");
}

#[test]
fn what_fails_is_counted_by_ycsbs_statuses_and_never_as_fast() {
    let place = Place::new("ycsb_failing");
    place.ycsb("load", "a", &[]).expect(0, &[]);
    // The last key stays, so that all rows seem to be there.
    place.db.sql(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
         $$BEGIN RAISE EXCEPTION 'read only'; END$$; \
         CREATE TRIGGER refuse BEFORE UPDATE ON usertable FOR EACH STATEMENT EXECUTE FUNCTION refuse()",
    );
    let run = place.ycsb("run", "a", &["-threads", "2"]).expect(
        0,
        &[
            "Return=ERROR, ",
            "[UPDATE-FAILED], Operations, ",
            "times: ",
            "read only",
        ],
    );
    assert_eq!(count(&run, "UPDATE"), 0);
    let reads = count(&run, "READ");
    assert_eq!(count(&run, "UPDATE-FAILED"), 1000 - reads);
    place.db.sql("DROP TRIGGER refuse ON usertable");
    // A hole that the count of rows does not show.
    place
        .db
        .sql("DELETE FROM usertable WHERE ycsb_key = 'user8517097267634966620'");
    let args = ["-p", "requestdistribution=sequential"];
    let run = place.ycsb("run", "a", &args).expect(0, &[]);
    let missing = [
        "[READ], Return=NOT_FOUND, 1\n",
        "[UPDATE], Return=UNEXPECTED_STATE, 1\n",
    ];
    assert!(
        missing.iter().any(|line| run.stdout.contains(line)),
        "{run:#?}"
    );
    assert_eq!(count(&run, "READ") + count(&run, "UPDATE"), 999);

    // A load whose inserts fail ends its threads, unless they are to go on.
    place.db.sql(
        "TRUNCATE usertable; CREATE TRIGGER refuse BEFORE INSERT ON usertable FOR EACH STATEMENT \
         EXECUTE FUNCTION refuse()",
    );
    let load = place.ycsb("load", "a", &["-threads", "2"]).expect(
        1,
        &[
            "[INSERT], Return=ERROR, 2\n",
            "2 of 2 threads ended before their time",
        ],
    );
    assert_eq!(count(&load, "INSERT"), 0);
    let on = "core_workload_insertion_keep_going_on_error=true";
    place
        .ycsb("load", "a", &["-p", on])
        .expect(0, &["[INSERT], Return=ERROR, 1000\n"]);
}

#[test]
fn called_by_their_names_they_are_the_same() {
    let place = Place::new("ycsb_named");
    for (name, args, said) in [
        (
            "/usr/bin/ycsb",
            &["load", "jdbc"][..],
            "Missing property: workload",
        ),
        ("ycsb.sh", &["--help"], "ycsb.sh run jdbc [options]"),
        ("/opt/go-ycsb", &["--help"], "go-ycsb load pg [flags]"),
        ("go-ycsb", &["frob"], "frob: no such command"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pgdyno"));
        let run = ran(command.arg0(name).args(args).stdin(Stdio::null()));
        assert!(
            run.stdout.contains(said) || run.stderr.contains(said),
            "{name}: {run:#?}"
        );
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_pgdyno"));
    command
        .arg0("ycsb")
        .args(["load", "jdbc", "-P"])
        .arg(place.workload("a"));
    ran(command.args(place.jdbc())).expect(0, &["[INSERT], Return=OK, 1000\n"]);
    pgdyno_help("ycsb", "-p NAME=VALUE");
    pgdyno_help("go-ycsb", "--interval N");
    ran(&mut pgdyno(&["-q", "ycsb", "run", "jdbc"])).expect(2, &["come first"]);
}

fn pgdyno_help(verb: &str, said: &str) {
    ran(&mut pgdyno(&[verb, "--help"])).expect(0, &[said, "255  counts that cannot be"]);
}

#[test]
fn what_cannot_be_had_is_refused_before_a_server_is_asked() {
    let place = Place::new("ycsb_refused");
    let refused = |code: i32, pair: &str, said: &str| {
        place.ycsb("run", "a", &["-p", pair]).expect(code, &[said]);
        place.ycsb("load", "a", &["-p", pair]).expect(code, &[said]);
    };
    for (pair, said) in [
        (
            "workload=x.Y",
            "workload=x.Y: pgdyno has the core workload only",
        ),
        ("db=x.Mongo", "db=x.Mongo: pgdyno has the binding jdbc only"),
        (
            "exporter=x.JSON",
            "exporter=x.JSON: pgdyno has no such exporter",
        ),
        (
            "fieldlengthdistribution=x",
            "Unknown field length distribution \"x\"",
        ),
        (
            "fieldlengthdistribution=histogram",
            "Couldn't read field length histogram file: hist.txt: ",
        ),
        (
            "requestdistribution=x",
            "Unknown request distribution \"x\"",
        ),
        (
            "scanlengthdistribution=x",
            "\"x\" not allowed for scan length",
        ),
        ("threadcount=0", "there must be at least one thread"),
        (
            "table=a-b",
            "table=a-b is no name that SQL has without quotes",
        ),
        ("fieldnameprefix=1f", "fieldnameprefix=1f is no name"),
        ("threadcount=x", "threadcount=x: it must be a whole number"),
        ("measurement.interval=x", "unknown measurement.interval=x"),
        ("measurementtype=x", "unknown measurementtype=x"),
        (
            "db.url=jdbc:mysql://h/d",
            "it is no URL of PostgreSQL's JDBC driver",
        ),
    ] {
        refused(2, pair, said);
    }
    refused(
        255,
        "insertcount=1001",
        "Invalid combination of insertstart",
    );
    refused(
        255,
        "exportfile=/none/x",
        "exportfile: could not create /none/x",
    );
    let lengths = [
        "-p",
        "dataintegrity=true",
        "-p",
        "fieldlengthdistribution=uniform",
    ];
    place
        .ycsb("load", "a", &lengths)
        .expect(255, &["Must have constant field size"]);
    place
        .ycsb("load", "a", &["-p", "recordcount=0"])
        .expect(2, &["how many rows to load"]);
    place
        .ycsb("run", "a", &[])
        .expect(1, &["relation \"usertable\" does not exist"]);
    place.go("run", "a", &[]).expect(1, &["does not exist"]);
    for (count, threads) in [("10", "11"), ("0", "1")] {
        let count_of = format!("operationcount={count}");
        let said = format!("{count} should be bigger than threadCount: {threads}");
        place
            .go("run", "a", &["-p", &count_of, "--threads", threads])
            .expect(255, &[&said]);
    }
    place
        .go("load", "a", &["-p", "recordcount=0"])
        .expect(255, &["0 should be bigger than threadCount: 1"]);
    let pairs = [
        ("outputstyle=x", "unsupported outputstyle: x"),
        ("measurementtype=x", "unsupported measurement type: x"),
        ("dropdata=true", "dropdata=true cannot be had"),
        ("batch.size=10", "batches cannot be had"),
        (
            "insertcount=1001",
            "record count 1000 must be bigger than insert start 0 + count 1001",
        ),
    ];
    for (pair, said) in pairs {
        place.go("run", "a", &["-p", pair]).expect(2, &[said]);
    }
    assert_eq!(
        place
            .db
            .value("SELECT count(*) FROM pg_tables WHERE tablename = 'usertable'"),
        "0"
    );
    let url = [
        "-p",
        "db.url=jdbc:postgresql://127.0.0.1:1/x?password=secret",
    ];
    let run = place.ycsb("load", "a", &url).expect(3, &["127.0.0.1"]);
    assert!(!run.stderr.contains("secret"), "{run:#?}");
}

#[test]
fn other_properties_have_their_effect_or_a_warning() {
    let place = Place::new("ycsb_properties");
    let loaded = [
        "-p",
        "fieldcount=3",
        "-p",
        "fieldlength=20",
        "-p",
        "zeropadding=5",
        "-p",
        "insertorder=ordered",
        "-p",
        "dataintegrity=true",
        "-p",
        "recordcuont=1",
        "-p",
        "core_workload_insertion_retry_limit=2",
        "-threads",
        "2000",
    ];
    let args = [&loaded[..], &["-p", "recordcount=20"]].concat();
    place.ycsb("load", "a", &args).expect(
        0,
        &[
            "recordcuont is no property that pgdyno knows; did you mean recordcount?",
            "Warning: the threadcount is bigger than recordcount",
            "Data integrity is enabled.",
            "[INSERT], Return=OK, 20\n",
        ],
    );
    let row = "SELECT ycsb_key, field0, length(field2) FROM usertable WHERE ycsb_key = 'user00001'";
    assert_eq!(place.db.value(row), "user00001|user00001:field0:-74|20");
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let export = path("out.txt");
    let store = crate::support::notebook::at(&folder.path().join("notebook.sqlite"));
    let store = store.display();
    let (export_pair, store_pair) = (
        format!("exportfile={export}"),
        format!("pgdyno.store={store}"),
    );
    let more = [
        "-p",
        "recordcount=20",
        "-p",
        &export_pair,
        "-p",
        &store_pair,
        "-p",
        "hdrhistogram.percentiles=50,99.9",
        "-p",
        "measurement.trackjvm=true",
        "-p",
        "readallfields=false",
        "-p",
        "writeallfields=true",
        "-p",
        "insertorder=ordered",
        "-p",
        "zeropadding=5",
    ];
    let run = place.ycsb("run", "a", &more).expect(
        0,
        &["measurement.trackjvm does nothing here", "kept as trial 1"],
    );
    assert!(!run.stdout.contains("OVERALL"), "{run:#?}");
    let text = fs::read_to_string(Path::new(&export)).unwrap();
    assert!(text.starts_with("[OVERALL], RunTime(ms), "), "{text}");
    assert!(
        text.contains("[READ], 99.9PercentileLatency(us), "),
        "{text}"
    );
    let intended = [
        "-p",
        "recordcount=20",
        "-p",
        "measurement.interval=intended",
    ];
    let order = ["-p", "insertorder=ordered", "-p", "zeropadding=5"];
    let run = place
        .ycsb("run", "a", &[&intended[..], &order].concat())
        .expect(0, &[]);
    assert!(!run.stdout.contains("Intended-"), "{run:#?}");
    assert_eq!(count(&run, "READ") + count(&run, "UPDATE"), 1000);
}

/// Ten draws are of lengths 20 (six: the first bucket has one more than its count), 40 (two) and, the
/// last bucket having the length of the one before it, 40 again (two).
#[test]
fn fields_have_the_lengths_of_the_histogram_file() {
    let place = Place::new("ycsb_lengths");
    let path = place.folder.path().join("hist.txt");
    fs::write(&path, "BlockSize\t20\n0\t5\n1\t2\n2\t3\n").unwrap();
    let file = format!("fieldlengthhistogram={}", path.display());
    let lengths = ["-p", "fieldlengthdistribution=histogram", "-p", &file];
    place.ycsb("load", "a", &lengths).expect(0, &[]);
    let share = "SELECT string_agg(DISTINCT l::text, ' '), \
                 round(avg((l = 20)::int), 2) BETWEEN 0.56 AND 0.64 \
                 FROM usertable, LATERAL (VALUES (length(field0)), (length(field4)), \
                 (length(field9))) AS v (l)";
    assert_eq!(place.db.value(share), "20 40|t");
    // Updates write such lengths too: all of them are either.
    let run = place.ycsb("run", "a", &lengths).expect(0, &[]);
    assert!(!run.stdout.contains("FAILED"), "{run:#?}");
    assert_eq!(place.db.value(share), "20 40|t");
    // go-ycsb reads the same file.
    place.db.sql("DROP TABLE usertable");
    let go = [&["--threads", "2"][..], &lengths].concat();
    place.go("load", "a", &go).expect(0, &[]);
    assert_eq!(place.db.value(share), "20 40|t");
}

#[test]
fn fields_are_as_long_as_minfieldlength_at_least() {
    let place = Place::new("ycsb_min_length");
    let lengths = |least: &'static str| {
        let uniform = [
            "-p",
            "fieldlengthdistribution=uniform",
            "-p",
            "fieldlength=12",
        ];
        [&uniform[..], &["-p", least]].concat()
    };
    place
        .ycsb("load", "a", &lengths("minfieldlength=13"))
        .expect(2, &["minfieldlength is 13 and fieldlength only 12"]);
    place
        .ycsb("load", "a", &lengths("minfieldlength=10"))
        .expect(0, &[]);
    let range = "SELECT min(length(field3)), max(length(field3)) FROM usertable";
    assert_eq!(place.db.value(range), "10|12");
    place
        .ycsb("run", "a", &lengths("minfieldlength=10"))
        .expect(0, &[]);
    assert_eq!(place.db.value(range), "10|12");
    let go = ["--threads", "1", "-p", "minfieldlength=10"];
    place
        .go("load", "a", &go)
        .expect(1, &["minfieldlength is no property that pgdyno knows"]);
}
