//! What the flags mean: parameters of the pack (a file for each workload), the drive, the output. After
//! this, there are no flags.

mod bank;
mod kv;
mod others;
mod querybench;
mod tpcc;
mod ycsb;

pub use kv::sequence;
pub use querybench::QuerybenchQueries;
pub use tpcc::{FORM_BATCH, FORM_STATEMENTS};
pub use tpcc::{active_warehouses, checks_all, is_local};
pub use ycsb::{LOCKING, NOT_LOCKING};

use std::path::PathBuf;
use std::time::Duration;

use pgdyno_spec::{
    Clients, Compatible, ErrorPolicy, Isolation, QueryMode, RetryPolicy, TrialSpec, Warmup,
};

use super::flags::go_values as go;
use super::flags::{ParsedFlags, Verb, default_concurrency};
use super::format::Format;
use super::generator::TransactionGenerator;
use super::openmetrics::MetricLabels;
use super::snapshot::{Form, SnapshotLayout};
use pgdyno_workload::filling::Method;

/// How long a run is that has no end: longer than any user waits.
const FOREVER: Duration = Duration::from_secs(100 * 366 * 86_400);

/// The workload, in the pack's words.
#[derive(Debug, Default, PartialEq)]
pub struct CockroachWorkload {
    /// The pack's mix, if it has some.
    pub mix: Option<String>,
    /// The pack's parameters, `NAME=VALUE` each.
    pub params: Vec<String>,
    /// Those that only some products have, to be left out elsewhere: parameter and flag.
    pub of_products: Vec<(String, &'static str)>,
    /// Flags that were given and that only making the tables heeds, which this command does not.
    pub of_init: Vec<&'static str>,
    /// How many workers there are, where that is not for `--concurrency` to say.
    pub clients: Option<usize>,
    /// Whether transactions that conflict are tried again without limit.
    pub retries: bool,
    /// Whether each transaction has a connection of its own.
    pub connects: bool,
    /// What is run in the place of a pack.
    pub queries: Option<QuerybenchQueries>,
}

/// A run, in pgdyno's words.
#[derive(Debug)]
pub struct Run {
    /// The trial, but for its workload and target.
    pub spec: TrialSpec,
    pub init: bool,
    /// Whether errors are counted and no more.
    pub tolerates_errors: bool,
    /// Seconds between two rows of an operation.
    pub display_every_s: u64,
    /// The form of the output.
    pub format: Format,
    pub histograms: Option<(PathBuf, SnapshotLayout, Form)>,
    /// Where figures are served for Prometheus.
    pub prometheus_port: Option<u16>,
    /// The notebook; `Some(None)` is the usual one.
    pub store: Option<Option<PathBuf>>,
}

/// Flags by name, with their values.
struct Flags<'a>(&'a ParsedFlags);

impl Flags<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        self.0.given(name)
    }

    fn is_set(&self, name: &str) -> bool {
        // Values were checked when they were read.
        self.text(name)
            .is_some_and(|value| go::bool(value) == Ok(true))
    }

    fn bool(&self, name: &str) -> Option<bool> {
        self.text(name).and_then(|value| go::bool(value).ok())
    }

    fn int(&self, name: &str) -> Option<i64> {
        self.text(name).and_then(|value| go::int(value).ok())
    }

    fn float(&self, name: &str) -> f64 {
        let value = self.text(name).and_then(|value| go::float(value).ok());
        value.unwrap_or(0.0)
    }

    /// Nothing when it is negative.
    fn duration(&self, name: &str) -> Option<Duration> {
        let value = self.text(name).and_then(|value| go::duration(value).ok());
        value.map(|(is_negative, duration)| {
            if is_negative {
                Duration::ZERO
            } else {
                duration
            }
        })
    }

    /// Whether the tables are made: what a run without that does not say, the tables know.
    fn makes_tables(&self, verb: Verb) -> bool {
        verb == Verb::Init || self.is_set("init") || self.is_set("drop")
    }

    /// Refuses flags that cannot be had: flag, the value that asks for nothing, and why.
    fn refuse(&self, missing: &[(&str, &str, &str)]) -> Result<(), String> {
        for (name, nothing, why) in missing {
            let Some(given) = self.text(name) else {
                continue;
            };
            // The same nothing is spelled in many ways.
            let number = |text: &str| text.parse::<f64>().ok();
            let asks_for_nothing = given == *nothing
                || number(given).is_some_and(|given| Some(given) == number(nothing))
                || go::bool(given).is_ok_and(|given| Ok(given) == go::bool(nothing))
                || self.duration(name).is_some_and(|limit| limit.is_zero());
            if !asks_for_nothing {
                return Err(format!("--{name} cannot be had: {why}"));
            }
        }
        Ok(())
    }

    /// A number that is not negative.
    fn count(&self, name: &str) -> Result<Option<u64>, String> {
        match self.int(name) {
            Some(number) => match u64::try_from(number) {
                Ok(count) => Ok(Some(count)),
                Err(_) => Err(format!("--{name} is {number}, and must not be negative")),
            },
            None => Ok(None),
        }
    }
}

/// Reads what the workload is to be.
///
/// # Errors
/// What is wrong, in cockroach's words where it has some.
pub fn workload(
    generator: TransactionGenerator,
    verb: Verb,
    parsed: &ParsedFlags,
) -> Result<CockroachWorkload, String> {
    let flags = Flags(parsed);
    if flags.is_set("with-changefeed") {
        return Err(
            "--with-changefeed cannot be had: pgdyno runs no changefeed; run one beside it"
                .to_owned(),
        );
    }
    let workload = match generator {
        TransactionGenerator::Ycsb => ycsb::workload(verb, &flags),
        TransactionGenerator::Kv => kv::workload(verb, &flags),
        TransactionGenerator::Bank => bank::workload(verb, &flags),
        TransactionGenerator::Tpcc => tpcc::workload(verb, &flags),
        TransactionGenerator::Querybench => querybench::workload(&flags),
        other => others::workload(other, verb, &flags),
    };
    workload.map_err(|why| {
        if why.starts_with("--") {
            why
        } else {
            format!("could not validate: {why}")
        }
    })
}

/// Reads how a run is to be.
///
/// # Errors
/// What is wrong with it.
pub fn run(parsed: &ParsedFlags, workload: &CockroachWorkload) -> Result<Run, String> {
    let flags = Flags(parsed);
    let format = flags.text("display-format").unwrap_or("simple");
    let format =
        Format::named(format).ok_or_else(|| format!("unknown display format: {format}"))?;
    let clients = match (workload.clients, flags.int("concurrency")) {
        (Some(workers), _) => workers,
        (None, Some(count)) => usize::try_from(count).unwrap_or(0),
        (None, None) => default_concurrency(),
    };
    if clients == 0 {
        return Err("--concurrency must be at least 1".to_owned());
    }
    let every = flags
        .duration("display-every")
        .unwrap_or(Duration::from_secs(1));
    if every.is_zero() {
        return Err("--display-every must be longer than nothing".to_owned());
    }
    let positive = |duration: Duration| (!duration.is_zero()).then_some(duration);
    let duration = flags.duration("duration").and_then(positive);
    let max_ops = flags.text("max-ops").and_then(|value| go::uint(value).ok());
    let each = max_ops.unwrap_or(0).div_ceil(clients as u64);
    let each = (each > 0).then_some(each);
    let each = match &workload.queries {
        Some(queries) => queries.passes(each),
        None => each,
    };
    let rate = flags.float("max-rate");
    let tolerates_errors = flags.is_set("tolerate-errors");
    let spec = TrialSpec {
        clients: u32::try_from(clients).ok().map(Clients::from),
        transactions: each.filter(|_| duration.is_none()),
        duration: Some(duration.unwrap_or(FOREVER)),
        warmup: Warmup::Given(flags.duration("ramp").unwrap_or_default()),
        rate: (rate > 0.0).then(|| rate.into()),
        retry: RetryPolicy {
            // What cockroach's own client library does with transactions of several statements.
            max_tries: Some(if workload.retries { 0 } else { 1 }),
            ..RetryPolicy::default()
        },
        errors: ErrorPolicy {
            continue_on_error: tolerates_errors,
            reconnect: tolerates_errors,
            exit_on_abort: !tolerates_errors,
            ..ErrorPolicy::default()
        },
        query_mode: Some(query_mode(flags.text("method").unwrap_or("prepare"))?),
        isolation: if flags.is_set("serializable") {
            Some(Isolation::Serializable)
        } else {
            isolation(flags.text("isolation-level").unwrap_or_default())?
        },
        seed: Some(flags.int("seed").unwrap_or(1)),
        connection_per_transaction: workload.connects,
        compatible: Compatible {
            transactions_per_client_max: each,
            ..Compatible::default()
        },
        ..TrialSpec::default()
    };
    Ok(Run {
        spec,
        init: flags.is_set("init") || flags.is_set("drop"),
        tolerates_errors,
        // The engine hands over its counts each second.
        display_every_s: every.as_secs_f64().ceil() as u64,
        format,
        histograms: histograms(&flags)?,
        prometheus_port: prometheus_port(&flags)?,
        store: flags
            .text("store")
            .map(|path| (!path.is_empty()).then(|| PathBuf::from(path))),
    })
}

fn histograms(flags: &Flags) -> Result<Option<(PathBuf, SnapshotLayout, Form)>, String> {
    let digits = flags.int("histograms-digits").unwrap_or(3);
    let Some(digits) = u8::try_from(digits)
        .ok()
        .filter(|digits| (1..=3).contains(digits))
    else {
        return Err(format!(
            "--histograms-digits is {digits}, and must be 1, 2 or 3"
        ));
    };
    let highest = flags.duration("histograms-max-latency");
    let highest = highest.unwrap_or(Duration::from_secs(100));
    let path = flags.text("histograms").filter(|path| !path.is_empty());
    let labels = MetricLabels::parse(flags.text("openmetrics-labels").unwrap_or_default())?;
    let form = match flags.text("histogram-export-format").unwrap_or("json") {
        "json" => Form::Json,
        "openmetrics" if path.is_some_and(|path| path.ends_with(".json")) => {
            return Err("--histograms: file path must not end with .json".to_owned());
        }
        "openmetrics" => Form::OpenMetrics(labels),
        other => {
            return Err(format!(
                "unknown histogram format: {other} (json, openmetrics)"
            ));
        }
    };
    Ok(path.map(|path| {
        (
            PathBuf::from(path),
            SnapshotLayout::new(digits, highest),
            form,
        )
    }))
}

fn prometheus_port(flags: &Flags) -> Result<Option<u16>, String> {
    let Some(port) = flags.int("prometheus-port") else {
        return Ok(None);
    };
    match u16::try_from(port) {
        Ok(port) => Ok(Some(port)),
        Err(_) => Err(format!(
            "--prometheus-port is {port}, and must be 0 to 65535"
        )),
    }
}

/// `--method`: the words of 19.1, and those of later versions.
fn query_mode(method: &str) -> Result<QueryMode, String> {
    match method.to_lowercase().as_str() {
        "prepare" | "cache_statement" => Ok(QueryMode::Prepared),
        "noprepare" | "cache_describe" | "describe_exec" | "exec" => Ok(QueryMode::Extended),
        "simple" | "simple_protocol" => Ok(QueryMode::Simple),
        _ => Err(format!("unknown method {method}")),
    }
}

fn isolation(level: &str) -> Result<Option<Isolation>, String> {
    let name = level.to_lowercase().replace(['_', '-'], " ");
    match name.as_str() {
        "" => Ok(None),
        // CockroachDB's name for what PostgreSQL calls repeatable read.
        "snapshot" => Ok(Some(Isolation::RepeatableRead)),
        name => match Isolation::from_name(name) {
            Some(level) => Ok(Some(level)),
            None => {
                let levels = Isolation::ALL.map(Isolation::name).join(", ");
                Err(format!(
                    "--isolation-level {level}: the levels are {levels}"
                ))
            }
        },
    }
}

/// How rows are loaded, and over how many connections if that was said.
///
/// # Errors
/// A loader that there is not.
pub fn loading(parsed: &ParsedFlags) -> Result<(Method, Option<usize>), String> {
    let flags = Flags(parsed);
    let loader = flags.text("data-loader").unwrap_or("COPY");
    let method = match loader.to_lowercase().as_str() {
        // What cockroach chooses itself, or its own way in: the fastest that there is here.
        "copy" | "auto" | "import" => Method::Copy,
        "insert" | "inserts" => Method::Insert,
        _ => {
            return Err(format!(
                "unknown data loader: {loader}; it is COPY, INSERT, or AUTO and IMPORT, which are COPY here"
            ));
        }
    };
    match flags.count("init-conns")? {
        None => Ok((method, None)),
        Some(count @ 1..=1024) => Ok((method, Some(count as usize))),
        Some(count) => Err(format!("--init-conns is {count}, and must be 1 to 1024")),
    }
}

/// What is to be reported once of flags that do less here than they say.
pub fn remarks(parsed: &ParsedFlags) -> Vec<String> {
    let idle = parsed.flags().filter_map(|flag| {
        let (name, why) = (flag.name, flag.idle?);
        Some(format!("--{name} does nothing here: {why}"))
    });
    let mut remarks: Vec<String> = idle.collect();
    let loader = parsed.given("data-loader").unwrap_or_default();
    if loader.eq_ignore_ascii_case("import") {
        remarks.push("--data-loader=IMPORT: rows are loaded by COPY".to_owned());
    }
    let every = Flags(parsed).duration("display-every").unwrap_or_default();
    if every.subsec_nanos() > 0 {
        let seconds = every.as_secs_f64().ceil();
        remarks.push(format!(
            "--display-every: {seconds} s, as ticks are whole seconds"
        ));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::super::flags::{all, parse};
    use super::*;
    use pgdyno_spec::Until;

    fn parsed(verb: Verb, line: &str) -> ParsedFlags {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&all(TransactionGenerator::Ycsb, verb), &arguments).unwrap()
    }

    fn run_of(line: &str) -> Run {
        let parsed = parsed(Verb::Run, line);
        let workload = workload(TransactionGenerator::Ycsb, Verb::Run, &parsed).unwrap();
        run(&parsed, &workload).unwrap()
    }

    fn refused(line: &str) -> String {
        let parsed = parsed(Verb::Run, line);
        let workload = workload(TransactionGenerator::Ycsb, Verb::Run, &parsed);
        let run = workload.and_then(|workload| run(&parsed, &workload));
        run.map(drop).unwrap_err()
    }

    #[test]
    fn a_run_is_driven_as_the_flags_say() {
        let plain = run_of("--concurrency=4");
        let spec = &plain.spec;
        assert_eq!(spec.until(), Until::Elapsed(FOREVER));
        assert_eq!(
            (spec.clients(), spec.retry.tries(), spec.seed),
            (4, 1, Some(1))
        );
        assert!(spec.errors.exit_on_abort && spec.rate.is_none() && !plain.init);
        assert_eq!(spec.query_mode(), QueryMode::Prepared);
        let other = run_of(
            "--concurrency=4 --duration=1m30s --max-ops=10 --ramp=5s --max-rate=2.5 --seed=-3 --drop \
             --tolerate-errors --read-modify-write-in-txn --method=exec --isolation-level=READ_COMMITTED \
             --display-every=2500ms --store",
        );
        let spec = &other.spec;
        assert_eq!(spec.until(), Until::Elapsed(Duration::from_secs(90)));
        assert_eq!(spec.compatible.transactions_per_client_max, Some(3));
        assert_eq!(
            (
                spec.warmup.longest(),
                spec.rate.as_ref().and_then(|rate| rate.constant())
            ),
            (Duration::from_secs(5), Some(2.5))
        );
        assert_eq!((spec.seed, spec.retry.tries()), (Some(-3), 0));
        assert!(spec.errors.reconnect && !spec.errors.exit_on_abort);
        assert!(other.init && other.tolerates_errors);
        assert_eq!(spec.query_mode(), QueryMode::Extended);
        assert_eq!(spec.isolation, Some(Isolation::ReadCommitted));
        assert_eq!((other.display_every_s, other.store), (3, Some(None)));
        let counted = run_of("--concurrency=2 --max-ops=10");
        assert_eq!(counted.spec.transactions, Some(5));
        assert_eq!(
            run_of("--duration=-5s").spec.until(),
            Until::Elapsed(FOREVER)
        );
    }

    #[test]
    fn senseless_options_are_refused_and_idle_ones_reported() {
        for (line, said) in [
            (
                "--request-distribution=foo",
                "could not validate: Unknown request distribution: foo",
            ),
            (
                "--scan-length-distribution=foo",
                "could not validate: Unknown scan length distribution: foo",
            ),
            (
                "--isolation-level=best",
                "--isolation-level best: the levels are read uncommitted, read committed, repeatable read, serializable",
            ),
            ("--method=foo", "unknown method foo"),
            (
                "--display-every=0s",
                "--display-every must be longer than nothing",
            ),
            (
                "--histograms-digits=4",
                "--histograms-digits is 4, and must be 1, 2 or 3",
            ),
            (
                "--insert-count=-1",
                "--insert-count is -1, and must not be negative",
            ),
            (
                "--delete-freq=0.1",
                "--delete-freq cannot be had: pgdyno's YCSB has no deletes",
            ),
        ] {
            assert_eq!(refused(line), said, "{line}");
        }
        let loading = loading(&parsed(Verb::Init, "--init-conns=0"));
        assert_eq!(
            loading.unwrap_err(),
            "--init-conns is 0, and must be 1 to 1024"
        );
        let reported = remarks(&parsed(
            Verb::Run,
            "--pprofport=1 --pprofport=2 --display-every=1500ms",
        ));
        assert_eq!(
            reported,
            [
                "--pprofport does nothing here: pgdyno has no Go profiler",
                "--display-every: 2 s, as ticks are whole seconds"
            ]
        );
    }
}
