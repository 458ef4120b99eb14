//! What a command line means. After this there are no options.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pgdyno_spec::{Address, TargetSpec};

use super::Stop;
use super::known;
use super::script::SysbenchScript;
use super::tpcc::Tpcc;
use super::typed::TypedOptions;

/// Which sysbench is imitated where they differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SysbenchVersion {
    V1_0_20,
    /// What came after it: uniform ids, another block of totals.
    Master,
}

/// What a transaction does, as far as it is counted here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    pub point_selects: u64,
    pub ranges: [u64; 4],
    pub range_selects: bool,
    pub skip_trx: bool,
}

impl Default for Work {
    fn default() -> Self {
        Self {
            point_selects: 10,
            ranges: [1; 4],
            range_selects: true,
            skip_trx: false,
        }
    }
}

/// A command line in pgdyno's words.
#[derive(Debug)]
pub struct Options {
    pub script: SysbenchScript,
    pub version: SysbenchVersion,
    pub target: TargetSpec,
    pub tables: u64,
    pub table_size: u64,
    pub auto_inc: bool,
    pub create_secondary: bool,
    pub work: Work,
    pub tpcc: Tpcc,
    pub rand_type: String,
    /// Parameters of the pack for a run.
    pub params: Vec<String>,
    pub threads: u32,
    pub events: u64,
    /// Events of a transaction: each row of `bulk_insert` is one.
    pub batch: u64,
    pub time: Duration,
    pub warmup: Duration,
    pub rate: u64,
    pub report_interval_s: u64,
    pub percentile: Option<u64>,
    pub histogram: bool,
    /// Whether kinds of ignored errors are printed, too.
    pub is_verbose: bool,
    pub seed: u64,
    has_prepared: bool,
    /// The notebook; `Some(None)` is the usual one.
    pub store: Option<Option<PathBuf>>,
    /// Whether the database is PostgreSQL's; what else it would be.
    pub driver: Result<(), String>,
}

/// Options and the pack's parameters of the same name, but for `-` and `_`.
const SAME: [&str; 17] = [
    "range-size",
    "point-selects",
    "simple-ranges",
    "sum-ranges",
    "order-ranges",
    "distinct-ranges",
    "index-updates",
    "non-index-updates",
    "delete-inserts",
    "random-points",
    "number-of-ranges",
    "delta",
    "rand-spec-iter",
    "rand-spec-pct",
    "rand-spec-res",
    "rand-pareto-h",
    "rand-zipfian-exp",
];

/// Scripts of sysbench 0.5, and those that came in their place.
const OLD_SCRIPTS: [(&str, &str); 9] = [
    (
        "oltp",
        "oltp_read_write, or oltp_read_only instead of --oltp-read-only=on",
    ),
    ("oltp_simple", "oltp_point_select"),
    ("select", "oltp_point_select"),
    ("insert", "oltp_insert"),
    ("delete", "oltp_delete"),
    ("update_index", "oltp_update_index"),
    ("update_non_index", "oltp_update_non_index"),
    ("parallel_prepare", "any script with --threads=N prepare"),
    ("common", "oltp_common"),
];

/// More connections than that are a mistake.
const THREADS_MAX: u64 = 100_000;

impl Options {
    /// Reads what is wanted.
    ///
    /// # Errors
    /// What cannot be had, and the way out.
    pub fn of(typed: &TypedOptions) -> Result<Self, Stop> {
        let script = script(typed)?;
        refuse(typed, script)?;
        let version = version(typed)?;
        let threads = typed.number("threads");
        if threads == 0 || threads > THREADS_MAX {
            return Err(Stop::fatal(format!(
                "Invalid value for --threads: {threads}."
            )));
        }
        let percentile = typed.number("percentile");
        if percentile > 100 {
            return Err(Stop::fatal(format!(
                "Invalid value for --percentile: {percentile}"
            )));
        }
        let seconds = |name| Duration::from_secs(typed.number(name));
        let work = Work {
            point_selects: typed.number("point-selects"),
            ranges: [
                "simple-ranges",
                "sum-ranges",
                "order-ranges",
                "distinct-ranges",
            ]
            .map(|name| typed.number(name)),
            range_selects: typed.is_on("range-selects"),
            skip_trx: typed.is_on("skip-trx"),
        };
        let rand_type = rand_type(typed, version)?;
        // The options of other scripts were refused: it has the defaults.
        let tpcc = match script {
            SysbenchScript::Tpcc => Tpcc::of(typed)?,
            _ => Tpcc::of(&TypedOptions::default())?,
        };
        let events = typed.number("events");
        let batch = match script {
            SysbenchScript::BulkInsert => bulk_rows(events, threads),
            _ => 1,
        };
        Ok(Self {
            script,
            version,
            target: target(typed),
            tables: match script {
                // A thread fills a table of its own.
                SysbenchScript::BulkInsert => threads,
                _ => typed.number("tables"),
            },
            table_size: typed.number("table-size"),
            auto_inc: typed.is_on("auto-inc"),
            create_secondary: typed.is_on("create-secondary"),
            params: match script {
                SysbenchScript::Tpcc => tpcc.params(),
                SysbenchScript::BulkInsert => vec![format!("batch={batch}")],
                _ => params(typed, script, &rand_type),
            },
            rand_type,
            work,
            tpcc,
            threads: threads as u32,
            events,
            batch,
            time: seconds("time"),
            warmup: seconds("warmup-time"),
            rate: typed.number("rate"),
            report_interval_s: typed.number("report-interval"),
            percentile: (percentile > 0).then_some(percentile),
            histogram: typed.is_on("histogram"),
            is_verbose: typed.number("verbosity") > 3,
            seed: typed.number("rand-seed"),
            has_prepared: has_prepared(typed)?,
            store: typed.is_given("pgdyno-store").then(|| {
                let path = typed.text("pgdyno-store");
                (!path.is_empty()).then(|| PathBuf::from(path))
            }),
            driver: match typed.text("db-driver") {
                "pgsql" => Ok(()),
                other => Err(other.to_owned()),
            },
        })
    }

    /// Whether statements are prepared; else they are sent as text.
    pub fn is_prepared(&self) -> bool {
        self.has_prepared && !self.script.is_text()
    }
}

/// Rows of an INSERT of `bulk_insert`: such that so many events of all threads, 0 for any number, are whole
/// INSERTs.
fn bulk_rows(events: u64, threads: u64) -> u64 {
    const MOST: u64 = 1000;
    match events {
        0 => MOST,
        _ => (1..=MOST.min(events.div_ceil(threads)))
            .rev()
            .find(|rows| events.is_multiple_of(*rows))
            .unwrap_or(1),
    }
}

fn version(typed: &TypedOptions) -> Result<SysbenchVersion, Stop> {
    match typed.text("pgdyno-version") {
        "1.0.20" => Ok(SysbenchVersion::V1_0_20),
        "master" => Ok(SysbenchVersion::Master),
        other => Err(
            Stop::fatal(format!("Invalid value for --pgdyno-version: {other}"))
                .hint("it is 1.0.20 or master"),
        ),
    }
}

/// The script by its name, or by the path of sysbench's own file.
fn script(typed: &TypedOptions) -> Result<SysbenchScript, Stop> {
    let Some(said) = typed.script.as_deref() else {
        return Err(Stop::fatal("no script is named")
            .hint("such as: sysbench oltp_read_write --db-driver=pgsql prepare"));
    };
    let path = Path::new(said);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_lua = name.ends_with(".lua");
    let name = name.trim_end_matches(".lua");
    let folder = path.parent().unwrap_or(Path::new(""));
    let is_theirs = folder.ends_with("share/sysbench")
        || (folder.as_os_str().is_empty() && !(is_lua && path.exists()))
        || (name == SysbenchScript::Tpcc.name() && folder.join("tpcc_common.lua").is_file());
    let found = SysbenchScript::ALL
        .into_iter()
        .find(|script| script.name() == name);
    if let Some(script) = found.filter(|_| is_theirs) {
        return Ok(script);
    }
    Err(match name {
        _ if OLD_SCRIPTS.iter().any(|(old, _)| *old == name) && is_theirs => {
            let new = OLD_SCRIPTS.iter().find(|(old, _)| *old == name);
            Stop::fatal(format!("{name}: a script of sysbench 0.5"))
                .hint(format!("in sysbench 1.0: {}", new.map_or("", |(_, new)| new)))
        }
        "fileio" => Stop::fatal("fileio: pgdyno measures databases only")
            .hint("what storage gives a database: pgdyno calibrate; this test itself is sysbench's own"),
        "cpu" | "memory" | "threads" | "mutex" => {
            Stop::fatal(format!("{name}: pgdyno measures databases only"))
                .hint("this test is sysbench's own: install sysbench for it")
        }
        _ if is_lua || path.exists() => {
            Stop::fatal(format!("{said}: pgdyno runs no Lua of yours"))
                .hint("write it as a pack, a folder of plain files: pgdyno pack show sysbench --to mine, change it, pgdyno run ./mine")
                .hint("pgdyno help sysbench, \"Your own Lua\", says what becomes what")
        }
        _ => Stop::fatal(format!(
            "Cannot find benchmark '{said}': no such built-in test, file or module"
        ))
        .hint(format!(
            "the scripts are {}",
            SysbenchScript::ALL.map(SysbenchScript::name).join(", ")
        )),
    })
}

/// What pgdyno cannot do, or sysbench's script does not know.
fn refuse(typed: &TypedOptions, script: SysbenchScript) -> Result<(), Stop> {
    let foreign = typed
        .names()
        .filter_map(known::find)
        .find(|known| !known.is_of(script));
    if let Some(known) = foreign {
        return Err(Stop::invalid_option(&format!("--{}", known.name)));
    }
    let why = |name: &str, way: &str| {
        Stop::fatal(format!("--{name}: pgdyno does not have it")).hint(way.to_owned())
    };
    for (name, way) in [
        (
            "report-checkpoints",
            "--report-interval=N; or --pgdyno-store, which keeps every second",
        ),
        (
            "pgsql-variant",
            "pgdyno run --url … says what it does on which product: pgdyno help targets",
        ),
    ] {
        if !typed.text(name).is_empty() {
            return Err(why(name, way));
        }
    }
    if typed.number("reconnect") > 0 {
        return Err(why(
            "reconnect",
            "pgdyno run sysbench --connection-per-transaction",
        ));
    }
    if typed.is_on("secondary") {
        return Err(Stop::fatal(
            "--secondary: the statement that creates such a table is MySQL's, and PostgreSQL refuses it",
        ));
    }
    if script.is_select_random() && typed.number("tables") != 1 {
        return Err(Stop::fatal("this benchmark does not support --tables > 1"));
    }
    if typed.number("tables") == 0 || typed.number("tables") > 1000 {
        return Err(Stop::fatal("--tables is 1 to 1000"));
    }
    if typed.number("table-size") > i32::MAX as u64 {
        return Err(Stop::fatal(
            "--table-size: ids are integers, up to 2147483647",
        ));
    }
    Ok(())
}

fn rand_type(typed: &TypedOptions, version: SysbenchVersion) -> Result<String, Stop> {
    let said = match (typed.is_given("rand-type"), version) {
        (false, SysbenchVersion::Master) => "uniform",
        _ => typed.text("rand-type"),
    };
    if ["uniform", "gaussian", "special", "pareto", "zipfian"].contains(&said) {
        Ok(said.to_owned())
    } else {
        Err(Stop::fatal(format!(
            "Invalid random numbers distribution: {said}."
        )))
    }
}

fn has_prepared(typed: &TypedOptions) -> Result<bool, Stop> {
    match typed.text("db-ps-mode") {
        "auto" => Ok(true),
        "disable" => Ok(false),
        other => Err(Stop::fatal(format!(
            "Invalid value for --db-ps-mode: {other}"
        ))),
    }
}

fn target(typed: &TypedOptions) -> TargetSpec {
    let part = |(key, option): (&str, &str)| {
        let value = typed
            .text(option)
            .replace('\\', "\\\\")
            .replace('\'', "\\'");
        format!("{key}='{value}'")
    };
    let parts = [
        ("host", "pgsql-host"),
        ("port", "pgsql-port"),
        ("user", "pgsql-user"),
        ("dbname", "pgsql-db"),
        ("sslmode", "pgsql-sslmode"),
        ("password", "pgsql-password"),
    ];
    let given = parts
        .into_iter()
        .filter(|(_, option)| !typed.text(option).is_empty());
    let parts: Vec<String> = given.map(part).collect();
    TargetSpec {
        urls: vec![Address::from(parts.join(" "))],
        ..TargetSpec::default()
    }
}

fn params(typed: &TypedOptions, script: SysbenchScript, rand_type: &str) -> Vec<String> {
    let param = |name: &str| format!("{}={}", name.replace('-', "_"), typed.text(name));
    let mut params: Vec<String> = SAME.map(param).into();
    params.push(format!("use_tables={}", typed.number("tables")));
    params.push(format!("use_rows={}", typed.number("table-size")));
    params.push(format!("rand_type={rand_type}"));
    params.push(format!("histogram_draw={}", typed.number("percentile") > 0));
    params.push(format!("skip_trx={}", typed.is_on("skip-trx")));
    params.push(format!("range_selects={}", typed.is_on("range-selects")));
    if script == SysbenchScript::Insert && !typed.is_on("auto-inc") {
        params.push("insert_ids=true".to_owned());
    }
    params
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_spec::Isolation;

    fn options(line: &str) -> Result<Options, Stop> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::of(&TypedOptions::read(&words)?)
    }

    #[test]
    fn a_command_line_becomes_a_target_and_parameters() {
        let read = options(
            "oltp_read_write --db-driver=pgsql --pgsql-host=h --pgsql-password=it's --tables=3 --table-size=9 \
             --rand-seed=5 --skip-trx run",
        )
        .unwrap();
        assert_eq!(
            read.target.urls[0].secret(),
            r"host='h' port='5432' user='sbtest' dbname='sbtest' sslmode='prefer' password='it\'s'"
        );
        for param in [
            "use_tables=3",
            "use_rows=9",
            "rand_type=special",
            "skip_trx=true",
        ] {
            assert!(
                read.params.iter().any(|has| has == param),
                "{param}: {:?}",
                read.params
            );
        }
        assert_eq!((read.seed, read.percentile), (5, Some(95)));
        assert!(read.driver.is_ok());
        assert_eq!(
            options("oltp_delete run").unwrap().driver,
            Err("mysql".to_owned())
        );
    }

    #[test]
    fn the_distribution_is_the_versions_own_unless_it_is_given() {
        let of = |line: &str| options(line).unwrap().rand_type;
        assert_eq!(of("oltp_delete run"), "special");
        assert_eq!(of("oltp_delete --pgdyno-version=master run"), "uniform");
        assert_eq!(
            of("oltp_delete --pgdyno-version=master --rand-type=pareto run"),
            "pareto"
        );
    }

    #[test]
    fn sysbenchs_own_files_are_the_scripts_and_a_users_are_not() {
        let of = |script: &str| options(&format!("{script} run")).map(|read| read.script);
        assert_eq!(
            of("/usr/share/sysbench/oltp_insert.lua"),
            Ok(SysbenchScript::Insert)
        );
        assert_eq!(of("oltp_insert.lua"), Ok(SysbenchScript::Insert));
        assert_eq!(of("bulk_insert"), Ok(SysbenchScript::BulkInsert));
        assert_eq!(
            of("/usr/share/sysbench/oltp_common.lua"),
            Ok(SysbenchScript::Common)
        );
        for (script, said) in [
            ("./oltp_insert.lua", "pgdyno pack show sysbench --to mine"),
            (
                "/home/me/mine.lua",
                "/home/me/mine.lua: pgdyno runs no Lua of yours",
            ),
            (
                "nope",
                "FATAL: Cannot find benchmark 'nope': no such built-in test, file or module",
            ),
            ("fileio", "pgdyno calibrate"),
            ("oltp", "in sysbench 1.0: oltp_read_write"),
            (
                "/usr/share/sysbench/update_index.lua",
                "in sysbench 1.0: oltp_update_index",
            ),
            ("./tpcc.lua", "./tpcc.lua: pgdyno runs no Lua of yours"),
            ("cpu", "measures databases only"),
        ] {
            let stop = of(script).unwrap_err();
            let text = [stop.lines, stop.errors, stop.hints].concat().join("\n");
            assert!(text.contains(said), "{script}: {text}");
        }
    }

    #[test]
    fn events_of_bulk_insert_are_whole_inserts() {
        let rows = [(0, 4), (400, 2), (401, 2), (10_000, 3), (3, 8)];
        let rows = rows.map(|(events, threads)| bulk_rows(events, threads));
        assert_eq!(rows, [1000, 200, 1, 1000, 1]);
    }

    #[test]
    fn sysbench_tpccs_options_become_parameters_of_its_pack() {
        let read = options(
            "tpcc.lua --db-driver=pgsql --scale=7 --use_fk=0 --tables=1 --trx_level=RC --report_csv=yes \
             --enable_purge=no --force_pk=0 run",
        )
        .unwrap();
        assert_eq!(read.tpcc.made(), ["warehouses=7", "fks=false"]);
        assert!(read.params.contains(&"active_warehouses=7".to_owned()));
        assert!(read.params.contains(&"home=any".to_owned()));
        assert_eq!(read.tpcc.isolation, Isolation::ReadCommitted);
        assert!(read.tpcc.is_csv && !read.is_prepared());
        let read = options("tpcc run").unwrap();
        assert_eq!(read.tpcc.made(), ["warehouses=100", "fks=true"]);
        assert_eq!(read.tpcc.isolation, Isolation::RepeatableRead);
        assert!(!read.tpcc.is_csv);
    }

    #[test]
    fn what_cannot_be_had_is_refused_with_the_way_out() {
        for (line, said) in [
            ("oltp_insert --delta=3 run", "invalid option: --delta"),
            (
                "oltp_insert --threads=0 run",
                "Invalid value for --threads: 0.",
            ),
            (
                "oltp_insert --percentile=101 run",
                "Invalid value for --percentile: 101",
            ),
            (
                "oltp_insert --rand-type=x run",
                "Invalid random numbers distribution: x.",
            ),
            ("oltp_insert --db-ps-mode=x run", "--db-ps-mode: x"),
            (
                "oltp_insert --pgdyno-version=2 run",
                "it is 1.0.20 or master",
            ),
            (
                "oltp_insert --report-checkpoints=5 run",
                "--report-interval=N",
            ),
            (
                "bulk_insert --table-size=5 run",
                "invalid option: --table-size",
            ),
            (
                "oltp_insert --pgsql-variant=redshift run",
                "pgdyno help targets",
            ),
            (
                "oltp_insert --reconnect=5 run",
                "--connection-per-transaction",
            ),
            ("oltp_insert --secondary run", "PostgreSQL refuses it"),
            ("oltp_insert --tables=0 run", "1 to 1000"),
            (
                "oltp_insert --table-size=3000000000 run",
                "up to 2147483647",
            ),
            (
                "select_random_points --tables=2 run",
                "does not support --tables > 1",
            ),
            ("--threads=2", "no script is named"),
            ("oltp_insert --scale=2 run", "invalid option: --scale"),
            ("tpcc --table-size=2 run", "invalid option: --table-size"),
            ("tpcc --tables=2 run", "more data: --scale=N warehouses"),
            ("tpcc --scale=0 run", "--scale is 1 to 1000000 warehouses"),
            (
                "tpcc --trx_level=RU run",
                "it is RR (the default), RC or SER",
            ),
            ("tpcc --report_csv=on run", "--report-csv: on"),
            (
                "tpcc --enable_purge=yes run",
                "with cleanup, then with prepare",
            ),
            ("tpcc --splittable=yes run", "pgdyno run with several --url"),
            ("tpcc --pgsql_schema=mine run", "SET search_path"),
            ("tpcc --force_pk=1 run", "--force-pk: its SQL is MySQL's"),
            (
                "tpcc --mysql_storage_engine=innodb run",
                "--mysql-storage-engine: its SQL is MySQL's",
            ),
        ] {
            let stop = options(line).unwrap_err();
            let text = [stop.lines, stop.errors, stop.hints].concat().join("\n");
            assert!(text.contains(said), "{line}: {text}");
        }
    }
}
