//! Tables that are missing are filled by all generators that are there: what comes of it is what one
//! process would load, though generators die, are late or never come.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use pgdyno_platform::child::Signal;
use pgdyno_session::Session;

use crate::child::{Running, wait_until};
use crate::generators::crew::Crew;
use crate::support::{Database, connect};

/// A trial that only reads tables of more rows than one generator keeps to itself.
pub const TPCB: &str = "run select-only --param scale=2 -c 3 -t 1";
const TPCB_TABLES: [&str; 4] = [
    "pgbench_accounts",
    "pgbench_branches",
    "pgbench_history",
    "pgbench_tellers",
];

/// All rows of tables, and their keys.
pub fn content(db: &Database, tables: &[&str]) -> Vec<String> {
    let of = |table: &&str| {
        let rows = format!(
            "SELECT count(*), md5(string_agg(t::text, E'\\n' ORDER BY t::text COLLATE \"C\")) FROM {table} t"
        );
        let keys = format!(
            "SELECT string_agg(indexdef, ' ' ORDER BY indexdef) FROM pg_indexes WHERE tablename = '{table}'"
        );
        format!("{table} {} {}", db.value(&rows), db.value(&keys))
    };
    tables.iter().map(of).collect()
}

/// The same of tables that one process has loaded.
pub fn loaded_by_one(name: &str, line: &str, tables: &[&str]) -> Vec<String> {
    let crew = Crew::in_file(name);
    let load = crew.pgdyno(&format!("load {line} --url {}", crew.target.url));
    load.expect(0, &[]);
    content(&crew.target, tables)
}

/// Whether the tables are those that one process loads, and no more.
#[track_caller]
pub fn is_tpcb(crew: &Crew) {
    static BY_ONE: OnceLock<Vec<String>> = OnceLock::new();
    let load = || loaded_by_one("filled_by_one", "tpcb --param scale=2", &TPCB_TABLES);
    let by_one = BY_ONE.get_or_init(load);
    assert_eq!(&content(&crew.target, &TPCB_TABLES), by_one);
    nothing_is_left(&crew.target);
}

fn nothing_is_left(db: &Database) {
    let left = "SELECT relname FROM pg_class WHERE relname LIKE 'pgdyno%'";
    assert_eq!(db.rows(left), [""; 0]);
}

/// Nothing is put in as long as this is there: all that fill come to wait for it.
pub struct Held(Session);

impl Held {
    /// From when tables are there.
    pub fn of(crew: &Crew) -> Held {
        let record =
            "SELECT relname FROM pg_class WHERE relname LIKE 'pgdyno_loading%' AND relkind = 'r'";
        crew.target.wait_for(record);
        let record = crew.target.value(record);
        Held::by(crew, &format!("LOCK TABLE {record} IN SHARE MODE"))
    }

    pub fn by(crew: &Crew, lock: &str) -> Held {
        let mut session = connect(&crew.target.url);
        session.simple_query(&format!("BEGIN; {lock}")).unwrap();
        Held(session)
    }

    /// Waits until so many processes wait; asked elsewhere, as a transaction sees the first answer again.
    pub fn wait_for(&self, crew: &Crew, processes: u32) {
        crew.target.wait_for(&format!(
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() \
             AND wait_event_type = 'Lock' HAVING count(*) >= {processes}"
        ));
    }

    pub fn let_go(mut self) {
        self.0.simple_query("COMMIT").unwrap();
    }
}

/// Waits until the tables are complete.
pub fn wait_until_loaded(crew: &Crew, table: &str) {
    let complete =
        format!("SELECT 1 WHERE obj_description(to_regclass('{table}')) LIKE '%\"complete\"%'");
    crew.target.wait_for(&complete);
}

pub fn preparing(crew: &Crew) -> usize {
    let sql = "SELECT generator FROM word WHERE what = 'preparing'";
    crew.number(sql).unwrap() as usize
}

pub fn start(crew: &Crew, line: &str, generators: u32, count: u32) -> Vec<Option<Running>> {
    let line = format!("{line} --generators {generators} --join k");
    let start = |generator| Some(crew.start(&format!("{line} --generator {generator}")));
    (0..count).map(start).collect()
}

/// Three generators fill a table of so many rows; each says how many it put in.
fn three_fill(crew: &Crew, line: &str, table: &str, rows: u64) {
    let all = start(crew, line, 3, 3);
    let held = Held::of(crew);
    held.wait_for(crew, 3);
    held.let_go();
    let all: Vec<_> = all.into_iter().flatten().map(Running::ended).collect();
    let mut sum = 0;
    let count = all.len();
    for ran in all {
        let ran = ran.expect(0, &["kept as trial"]);
        let before = |text: &str| -> Option<u64> {
            let at = ran.stderr.find(text)?;
            let number = ran.stderr[..at].rsplit([' ', '\n']).next()?;
            Some(number.replace(',', "").parse().unwrap())
        };
        let own = match before(" rows by this generator") {
            Some(own) => own,
            None => {
                let total = pgdyno_spec::text::count(rows);
                rows - before(&format!(" of {total} rows by other generators")).unwrap()
            }
        };
        assert!(ran.stderr.contains(table), "{ran:#?}");
        assert!(own > 0 && own < rows, "{ran:#?}");
        sum += own;
    }
    assert_eq!((count, sum), (3, rows));
    nothing_is_left(&crew.target);
}

#[test]
fn three_generators_load_what_one_process_loads() {
    let crew = Crew::in_file("filled");
    let all = start(&crew, TPCB, 3, 3);
    let held = Held::of(&crew);
    // Small tables come first, and all of them wait for the first range.
    held.wait_for(&crew, 3);
    held.let_go();
    for ran in all.into_iter().flatten().map(Running::ended) {
        ran.expect(0, &["kept as trial"]);
    }
    is_tpcb(&crew);
}

#[test]
fn each_of_three_generators_puts_in_a_part_of_a_table() {
    let params = "--param recordcount=200000 --param fieldcount=2 --param fieldlength=5";
    let by_one = loaded_by_one("filled_ycsb_one", &format!("ycsb {params}"), &["usertable"]);
    let crew = Crew::on_server("filled_ycsb");
    let line = format!("run ycsb --mix c {params} -c 3 -t 1");
    three_fill(&crew, &line, "usertable", 200_000);
    assert_eq!(content(&crew.target, &["usertable"]), by_one);
}

/// Rows of numbers, texts, chance and nothing, made by a pack of one's own; its folder.
fn pack_of_ones_own(crew: &Crew) -> String {
    crew.write(
        "pack.toml",
        "name = \"mine\"\nsummary = \"Mine\"\ndescription = \"No more.\"\nschema = \"schema.sql\"\n\
         [[table]]\nname = \"mine\"\nrows = \"210001\"\ncolumns = [\
         { name = \"id\", value = \":row\" },\
         { name = \"drawn\", value = \"random(1, 1000000)\" },\
         { name = \"word\", value = \"'a\tb\\\\' || :row\" },\
         { name = \"nothing\", value = \"null\" }]\n\
         [[script]]\nname = \"read\"\nfile = \"read.sql\"\n",
    );
    let schema = "CREATE TABLE mine (id int, drawn int, word text, nothing int);\n";
    crew.write("schema.sql", schema);
    let read = crew.write("read.sql", "SELECT count(*) FROM mine WHERE id = 1;\n");
    read.trim_end_matches("/read.sql").to_owned()
}

#[test]
fn a_pack_of_ones_own_is_filled_by_all_of_them() {
    let pack = pack_of_ones_own;
    let one = Crew::in_file("filled_mine_one");
    let load = format!("load {} --url {}", pack(&one), one.target.url);
    one.pgdyno(&load).expect(0, &[]);
    let crew = Crew::in_file("filled_mine");
    let line = format!("run {} -c 3 -t 1", pack(&crew));
    three_fill(&crew, &line, "mine", 210_001);
    assert_eq!(
        content(&crew.target, &["mine"]),
        content(&one.target, &["mine"])
    );
}

#[test]
fn one_that_never_comes_leaves_its_share_to_the_others() {
    let crew = Crew::in_file("filled_never");
    let line = format!("{TPCB} --join-deadline 1s");
    for ran in start(&crew, &line, 3, 2)
        .into_iter()
        .flatten()
        .map(Running::ended)
    {
        ran.expect(1, &["kept as trial"]);
    }
    is_tpcb(&crew);
}

/// What the dead one was about to put in is put in by the others; here its backend lives on for a while, with
/// a range that it has recorded and not committed.
#[test]
fn one_that_is_killed_while_it_fills_leaves_its_share_to_the_others() {
    let crew = Crew::in_file("filled_killed");
    let mut all = start(&crew, TPCB, 3, 3);
    crew.target
        .wait_for("SELECT 1 WHERE to_regclass('pgbench_accounts') IS NOT NULL");
    let held = Held::by(&crew, "LOCK TABLE pgbench_accounts IN SHARE MODE");
    held.wait_for(&crew, 3);
    let victim = (preparing(&crew) + 1) % 3;
    let killed = all[victim].take().unwrap();
    killed.signal(Signal::Kill);
    drop(killed);
    held.let_go();
    wait_until_loaded(&crew, "pgbench_accounts");
    is_tpcb(&crew);
    // Before the others have waited for it.
    interrupted(all);
}

/// Ends all by a signal to one.
pub fn interrupted(all: Vec<Option<Running>>) {
    let all: Vec<Running> = all.into_iter().flatten().collect();
    all[0].signal(Signal::Interrupt);
    let began = Instant::now();
    for ran in all.into_iter().map(Running::ended) {
        assert_eq!(ran.code, Some(130), "{ran:#?}");
    }
    let took = began.elapsed();
    assert!(took < Duration::from_secs(3), "{took:?}");
}

#[test]
fn a_signal_to_one_ends_all_that_fill() {
    let crew = Crew::in_file("filled_signal");
    let all = start(&crew, TPCB, 3, 3);
    let held = Held::of(&crew);
    held.wait_for(&crew, 3);
    interrupted(all);
    held.let_go();
    // The record says what is missing.
    let load = format!("load tpcb --param scale=2 --url {}", crew.target.url);
    crew.pgdyno(&load).expect(0, &["tpcb is loaded"]);
    is_tpcb(&crew);
}

/// `pgdyno load` alone can be shared, too: the second time nothing is to be done.
#[test]
fn loads_are_shared_without_a_trial() {
    let crew = Crew::in_file("filled_load");
    let line = "load tpcb --param scale=2";
    let all = start(&crew, line, 2, 2);
    let held = Held::of(&crew);
    held.wait_for(&crew, 2);
    held.let_go();
    let all: Vec<_> = all.into_iter().flatten().map(Running::ended).collect();
    let said = |text: &str| all.iter().filter(|ran| ran.stdout.contains(text)).count();
    assert_eq!(said("200,022 rows in"), 1, "{all:#?}");
    assert_eq!(said("of 200,000 rows by other generators"), 1, "{all:#?}");
    assert_eq!(said("tpcb is already loaded (fillfactor"), 1, "{all:#?}");
    is_tpcb(&crew);
    for ran in crew.run(2, &format!("{line} --join again --replace")) {
        let ran = ran.expect(0, &[]);
        assert!(ran.stdout.contains("loaded"), "{ran:#?}");
    }
    is_tpcb(&crew);
    assert!(crew.listed().is_empty());
    let other = format!(
        "load tpcb --param scale=3 --generators 2 --join again --url {}",
        crew.target.url
    );
    crew.pgdyno(&other)
        .expect(2, &["again is a trial of another load", "params"]);
    let kept = format!("load tpcb --store x --url {}", crew.target.url);
    crew.pgdyno(&kept)
        .expect(2, &["--store says where generators meet"]);
}

/// YugabyteDB's dialect on PostgreSQL: rows go in with their records, so that no statement commits in its
/// middle and no setting makes transactions something less.
#[test]
fn where_a_copy_commits_by_itself_shared_ranges_do_not() {
    let crew = Crew::in_file("filled_yugabytedb");
    crew.target.sql(
        "CREATE SCHEMA yb; CREATE FUNCTION yb.version() RETURNS text LANGUAGE sql AS \
         $$ SELECT 'PostgreSQL 15.12-YB-2025.2.2.2-b0 on x86_64-pc-linux-gnu'::text $$; \
         DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = yb, pg_catalog, public', \
         current_database()); END $$",
    );
    let pack = pack_of_ones_own(&crew);
    let all = start(&crew, &format!("load {pack}"), 2, 2);
    let held = Held::of(&crew);
    held.wait_for(&crew, 2);
    held.let_go();
    let all: Vec<_> = all.into_iter().flatten().map(Running::ended).collect();
    for ran in &all {
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        assert!(
            !ran.stdout.contains("yb_disable_transactional_writes"),
            "{ran:#?}"
        );
    }
    let said = |text: &str| all.iter().filter(|ran| ran.stdout.contains(text)).count();
    assert_eq!(said("committed every 20,000 rows"), 1, "{all:#?}");
    assert_eq!(said("of 210,001 rows by other generators"), 1, "{all:#?}");
    let one = Crew::in_file("filled_yugabytedb_one");
    let load = format!("load {} --url {}", pack_of_ones_own(&one), one.target.url);
    one.pgdyno(&load).expect(0, &[]);
    assert_eq!(
        content(&crew.target, &["mine"]),
        content(&one.target, &["mine"])
    );
    nothing_is_left(&crew.target);
}

#[test]
fn one_that_does_not_reach_the_server_says_so_and_the_others_load() {
    let crew = Crew::in_file("filled_unreached");
    let line = "load tpcb --param scale=2 --generators 2 --join k";
    let own = crew.start(&format!("{line} --generator 0"));
    let held = Held::of(&crew);
    held.wait_for(&crew, 1);
    let said = crew.file("said");
    let nowhere = "--url postgresql://me@127.0.0.1:1/nowhere";
    let mut other = crew.command(&format!("{line} --generator 1 {nowhere}"));
    let other = other.stderr(std::fs::File::create(&said).unwrap());
    let mut other = other.spawn().unwrap();
    let text = "does not load tables with the others: ";
    wait_until(text, || {
        std::fs::read_to_string(&said).unwrap().contains(text)
    });
    held.let_go();
    own.ended().expect(0, &["tpcb is loaded"]);
    assert!(!other.wait().unwrap().success());
    is_tpcb(&crew);
}

#[test]
fn a_load_of_another_is_waited_for_as_if_it_had_died() {
    let crew = Crew::in_file("filled_locked");
    crew.pgdyno(&format!("load tpcb --url {}", crew.target.url))
        .expect(0, &[]);
    // The lock of a load, by its number.
    let mut session = connect(&crew.target.url);
    session.simple_query(&lock("pg_advisory_lock")).unwrap();
    let own = crew.start("load tpcb --replace --generators 2 --join k");
    crew.target.wait_for(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() \
         AND query LIKE 'SELECT pg_try_advisory_lock%' AND pid <> pg_backend_pid()",
    );
    session.simple_query(&lock("pg_advisory_unlock")).unwrap();
    let waited = "waiting until another pgdyno does not load into this database any more";
    own.ended().expect(0, &["tpcb is loaded", waited]);
}

/// As pgdyno computes it: the first eight bytes of a hash.
fn lock(function: &str) -> String {
    format!(
        "SELECT {function}(('x' || left(encode(sha256('pgdyno load'), 'hex'), 16))::bit(64)::bigint)"
    )
}
