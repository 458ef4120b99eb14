//! What the flags mean: parameters of the pack, the drive, the output. Past this, nobody knows of
//! flags.

use std::path::PathBuf;
use std::time::Duration;

use pgdyno_drive::QueryMode;
use pgdyno_model::spec::{Compatible, ErrorPolicy, RetryPolicy, Warmup};
use pgdyno_model::{Isolation, TrialSpec};

use super::flags::go_values::{self as go, quoted};
use super::flags::{Parsed, Verb, default_concurrency};
use super::format::Format;
use super::snapshot::Layout;
use pgdyno_workload::filling::Method;

/// How long a run is that has no end: longer than anybody waits.
const FOREVER: Duration = Duration::from_secs(100 * 366 * 86_400);

/// The workload, in the pack's words.
#[derive(Debug, PartialEq)]
pub struct Workload {
    /// The pack's mix.
    pub mix: String,
    /// The pack's parameters, `NAME=VALUE` each.
    pub params: Vec<String>,
    /// Those that only some products have, to be left out elsewhere: parameter and flag.
    pub of_products: Vec<(String, &'static str)>,
}

/// A run, in pgdyno's words.
#[derive(Debug)]
pub struct Run {
    /// The trial, but for its workload and target.
    pub spec: TrialSpec,
    /// Whether `init` comes first.
    pub init: bool,
    /// Whether errors are counted and no more.
    pub tolerates_errors: bool,
    /// Seconds between two rows of an operation.
    pub display_every_s: u64,
    /// The form of the output.
    pub format: Format,
    /// The histogram file.
    pub histograms: Option<(PathBuf, Layout)>,
    /// The notebook; `Some(None)` is the usual one.
    pub store: Option<Option<PathBuf>>,
}

/// Flags by name, with their values.
struct Flags<'a>(&'a Parsed);

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

/// The pack's read-modify-write in a transaction that locks the row when it reads it.
pub const LOCKING: &str = "for-update";
/// The same without.
pub const NOT_LOCKING: &str = "transaction";

/// The mixes: letter, and whether column families serve it by default. (Facts: pkg/workload/ycsb.)
const MIXES: [(&str, bool); 7] = [
    ("a", true),
    ("b", true),
    ("c", false),
    ("d", false),
    ("e", false),
    ("f", true),
    ("custom", true),
];

/// The shares of a custom mix: flag and parameter.
const SHARES: [(&str, &str); 5] = [
    ("read-freq", "readproportion"),
    ("insert-freq", "insertproportion"),
    ("update-freq", "updateproportion"),
    ("scan-freq", "scanproportion"),
    ("read-modify-write-freq", "readmodifywriteproportion"),
];

/// Distributions of requests; cockroach has the first three.
const REQUESTS: [&str; 6] = [
    "zipfian",
    "uniform",
    "latest",
    "hotspot",
    "exponential",
    "sequential",
];

/// What pgdyno's YCSB does not have, and would measure something else without.
const MISSING: [(&str, &str); 3] = [
    (
        "json",
        "pgdyno's usertable has a column for each field, and no JSONB",
    ),
    ("delete-freq", "pgdyno's YCSB has no deletes"),
    (
        "with-changefeed",
        "pgdyno runs no changefeed; run one beside it",
    ),
];

/// Reads what the workload is to be.
///
/// # Errors
/// What is wrong, in cockroach's words where it has some.
pub fn workload(verb: Verb, parsed: &Parsed) -> Result<Workload, String> {
    let flags = Flags(parsed);
    let typed = flags.text("workload").unwrap_or("B").to_uppercase();
    let mix = typed.to_lowercase();
    let Some((_, families)) = MIXES.iter().find(|(name, _)| *name == mix) else {
        return Err(format!(
            "could not validate: Unknown workload: {}",
            quoted(&typed)
        ));
    };
    for (name, why) in MISSING {
        if flags.is_set(name) || flags.float(name) > 0.0 {
            return Err(format!("--{name} cannot be had: {why}"));
        }
    }
    let mut params = Vec::new();
    let mut set = |name: &str, value: String| params.push(format!("{name}={value}"));
    let sum: f64 = SHARES.iter().map(|(flag, _)| flags.float(flag)).sum();
    if mix == "custom" {
        if SHARES.iter().any(|(flag, _)| flags.float(flag) < 0.0) || (sum - 1.0).abs() > 1e-6 {
            return Err(
                "could not validate: Custom workload frequencies do not sum to 1.0".to_owned(),
            );
        }
        for (flag, param) in SHARES {
            set(param, flags.float(flag).to_string());
        }
    } else if sum != 0.0 {
        return Err(
            "could not validate: Custom workload frequencies set with non-custom workload"
                .to_owned(),
        );
    }
    for (name, value) in numbers(verb, &flags)? {
        set(name, value.to_string());
    }
    // What a run does not say, the tables know.
    let key_format = flags.text("key-format");
    if let Some(format) = key_format.or((verb == Verb::Init).then_some("crdb")) {
        set("keyformat", format.to_owned());
    }
    if let Some(hashed) = flags.bool("insert-hash") {
        let order = if hashed { "hashed" } else { "ordered" };
        set("insertorder", order.to_owned());
    }
    if let Some(digits) = flags.count("zero-padding")? {
        set("zeropadding", digits.to_string());
    }
    if verb == Verb::Run {
        for (name, value) in of_run(&mix, &flags)? {
            set(name, value);
        }
    }
    let mut of_products = Vec::new();
    let families = flags
        .bool("families")
        .or((verb == Verb::Init).then_some(*families));
    if let Some(families) = families {
        of_products.push((format!("families={families}"), "families"));
    }
    if let Some(splits) = flags.count("splits")? {
        of_products.push((format!("splits={splits}"), "splits"));
    }
    Ok(Workload {
        mix,
        params,
        of_products,
    })
}

/// What only a run asks for; the pack's defaults are cockroach's, but for the length of scans.
fn of_run(mix: &str, flags: &Flags) -> Result<Vec<(&'static str, String)>, String> {
    let mut params = Vec::new();
    if let Some(given) = flags
        .text("request-distribution")
        .filter(|name| !name.is_empty())
    {
        let name = distribution("request", given, &REQUESTS)?;
        params.push(("requestdistribution", name));
    }
    if let Some(given) = flags.text("scan-length-distribution") {
        let name = distribution("scan length", given, &["uniform", "zipfian"])?;
        params.push(("scanlengthdistribution", name));
    }
    if let Some(given) = flags.text("min-scan-length") {
        params.push(("minscanlength", given.to_owned()));
    }
    // The pack's mix e is YCSB's, with scans of up to 100 rows.
    let longest = flags.text("max-scan-length");
    if let Some(longest) = longest.or((mix == "e").then_some("1000")) {
        params.push(("maxscanlength", longest.to_owned()));
    }
    let form = read_modify_write(flags);
    if form != "statements" {
        params.push(("rmw", form.to_owned()));
    }
    Ok(params)
}

/// Where key numbers begin and end. A run that says nothing of it takes the loaded table as it is.
fn numbers(verb: Verb, flags: &Flags) -> Result<Vec<(&'static str, u64)>, String> {
    let (start, count) = (flags.count("insert-start")?, flags.count("insert-count")?);
    let count = count.or(flags.count("initial-rows")?);
    let record = flags.count("record-count")?.filter(|count| *count > 0);
    if verb != Verb::Init && [start, count, record] == [None; 3] {
        return Ok(Vec::new());
    }
    let (start, count) = (start.unwrap_or(0), count.unwrap_or(10_000));
    let end = start.saturating_add(count);
    let record = record.unwrap_or(end);
    if end > record {
        return Err(format!(
            "could not validate: insertStart + insertCount ({end}) must be <= recordCount ({record})"
        ));
    }
    let mut numbers = vec![("recordstart", start), ("recordcount", count)];
    // Without it runs insert right behind what is loaded.
    if record > end {
        numbers.push(("insertstart", record));
    }
    Ok(numbers)
}

/// The word for a distribution, one of these.
fn distribution(what: &str, given: &str, known: &[&str]) -> Result<String, String> {
    let name = given.to_lowercase();
    if known.contains(&name.as_str()) {
        return Ok(name);
    }
    Err(format!("Unknown {what} distribution: {given}"))
}

fn read_modify_write(flags: &Flags) -> &'static str {
    let in_transaction = flags.is_set("read-modify-write-in-txn");
    match (in_transaction, flags.bool("select-for-update")) {
        (false, _) => "statements",
        (true, Some(false)) => NOT_LOCKING,
        (true, _) => LOCKING,
    }
}

/// Reads how a run is to be.
///
/// # Errors
/// What is wrong with it.
pub fn run(parsed: &Parsed) -> Result<Run, String> {
    let flags = Flags(parsed);
    let format = flags.text("display-format").unwrap_or("simple");
    let format =
        Format::named(format).ok_or_else(|| format!("unknown display format: {format}"))?;
    let clients = match flags.int("concurrency") {
        Some(count) => usize::try_from(count).unwrap_or(0),
        None => default_concurrency(),
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
    let rate = flags.float("max-rate");
    let tolerates_errors = flags.is_set("tolerate-errors");
    let retries = flags.is_set("read-modify-write-in-txn");
    let spec = TrialSpec {
        clients: u32::try_from(clients).ok(),
        transactions: each.filter(|_| duration.is_none()),
        duration: Some(duration.unwrap_or(FOREVER)),
        warmup: Warmup::Given(flags.duration("ramp").unwrap_or_default()),
        rate: (rate > 0.0).then_some(rate),
        retry: RetryPolicy {
            // What cockroach's own client library does with transactions of several statements.
            max_tries: Some(if retries { 0 } else { 1 }),
            ..RetryPolicy::default()
        },
        errors: ErrorPolicy {
            continue_on_error: tolerates_errors,
            reconnect: tolerates_errors,
            exit_on_abort: !tolerates_errors,
            ..ErrorPolicy::default()
        },
        query_mode: Some(query_mode(flags.text("method").unwrap_or("prepare"))?),
        isolation: isolation(flags.text("isolation-level").unwrap_or_default())?,
        seed: Some(flags.int("seed").unwrap_or(1)),
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
        store: flags
            .text("store")
            .map(|path| (!path.is_empty()).then(|| PathBuf::from(path))),
    })
}

fn histograms(flags: &Flags) -> Result<Option<(PathBuf, Layout)>, String> {
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
    Ok(path.map(|path| (PathBuf::from(path), Layout::new(digits, highest))))
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
pub fn loading(parsed: &Parsed) -> Result<(Method, Option<usize>), String> {
    let flags = Flags(parsed);
    let loader = flags.text("data-loader").unwrap_or("COPY");
    let method = match loader.to_lowercase().as_str() {
        "copy" => Method::Copy,
        "insert" | "inserts" => Method::Insert,
        _ => return Err(format!("unknown data loader: {loader}")),
    };
    match flags.count("init-conns")? {
        None => Ok((method, None)),
        Some(count @ 1..=1024) => Ok((method, Some(count as usize))),
        Some(count) => Err(format!("--init-conns is {count}, and must be 1 to 1024")),
    }
}

/// What is to be told once of flags that do less here than they say.
pub fn remarks(verb: Verb, parsed: &Parsed) -> Vec<String> {
    let idle = parsed.names().filter_map(|name| {
        let why = super::flags::Flag::of(verb, name)?.idle?;
        Some(format!("--{name} does nothing here: {why}"))
    });
    let mut remarks: Vec<String> = idle.collect();
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
    use super::super::flags::parse;
    use super::*;
    use pgdyno_drive::Until;

    fn parsed(verb: Verb, line: &str) -> Parsed {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(verb, &arguments).unwrap()
    }

    fn params(verb: Verb, line: &str) -> Vec<String> {
        workload(verb, &parsed(verb, line)).unwrap().params
    }

    fn run_of(line: &str) -> Run {
        run(&parsed(Verb::Run, line)).unwrap()
    }

    fn refused(line: &str) -> String {
        let parsed = parsed(Verb::Run, line);
        let workload = workload(Verb::Run, &parsed).map(drop);
        workload.and_then(|()| run(&parsed).map(drop)).unwrap_err()
    }

    #[test]
    fn init_says_how_the_table_is_to_be_and_a_run_takes_it_as_it_is() {
        assert_eq!(
            params(Verb::Init, ""),
            ["recordstart=0", "recordcount=10000", "keyformat=crdb"]
        );
        assert_eq!(
            params(
                Verb::Init,
                "--initial-rows=5 --insert-start=7 --key-format=java --insert-hash=false --zero-padding=3"
            ),
            [
                "recordstart=7",
                "recordcount=5",
                "keyformat=java",
                "insertorder=ordered",
                "zeropadding=3"
            ]
        );
        assert_eq!(params(Verb::Run, ""), [""; 0]);
        assert_eq!(
            params(Verb::Check, "--insert-count=6"),
            ["recordstart=0", "recordcount=6"]
        );
        assert_eq!(
            params(Verb::Run, "--insert-count=6 --record-count=9"),
            ["recordstart=0", "recordcount=6", "insertstart=9"]
        );
    }

    #[test]
    fn mixes_and_their_shares_are_the_packs() {
        let of = |line: &str| workload(Verb::Run, &parsed(Verb::Run, line)).unwrap();
        assert_eq!(of("").mix, "b");
        assert_eq!(of("--workload=d").mix, "d");
        let scans = of("--workload=E");
        assert_eq!(
            (scans.mix.as_str(), scans.params),
            ("e", vec!["maxscanlength=1000".to_owned()])
        );
        let custom = of("--workload=custom --read-freq=0.95 --scan-freq=.05");
        let shares = "readproportion=0.95 insertproportion=0 updateproportion=0 scanproportion=0.05 readmodifywriteproportion=0";
        assert_eq!(custom.params.join(" "), shares);
        let forms = ["", " --select-for-update=false"].map(|more| {
            of(&format!("--workload=F --read-modify-write-in-txn{more}"))
                .params
                .join(" ")
        });
        assert_eq!(forms, ["rmw=for-update", "rmw=transaction"]);
        let families = |line: &str| {
            let workload = workload(Verb::Init, &parsed(Verb::Init, line)).unwrap();
            workload
                .of_products
                .into_iter()
                .map(|(param, _)| param)
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(families("--workload=A"), "families=true");
        assert_eq!(
            families("--workload=C --splits=3"),
            "families=false splits=3"
        );
        assert_eq!(families("--workload=C --families"), "families=true");
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
            (spec.warmup.longest(), spec.rate),
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
    fn what_makes_no_sense_is_refused_and_what_does_nothing_is_told() {
        for (line, said) in [
            (
                "--request-distribution=foo",
                "Unknown request distribution: foo",
            ),
            (
                "--scan-length-distribution=foo",
                "Unknown scan length distribution: foo",
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
        let told = remarks(
            Verb::Run,
            &parsed(
                Verb::Run,
                "--prometheus-port=1 --prometheus-port=2 --display-every=1500ms",
            ),
        );
        assert_eq!(
            told,
            [
                "--prometheus-port does nothing here: pgdyno opens no port; see --histograms and --store for the figures",
                "--display-every: 2 s, as ticks are whole seconds"
            ]
        );
    }
}
