//! What properties mean: parameters of the pack, the trial, the output. After this, there are no
//! properties. (Facts: CoreWorkload, Client and JdbcDBClient of YCSB; core.go and db.go of go-ycsb.)

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use pgdyno_script::KeyFormat;
use pgdyno_spec::{
    Address, Backoff, Compatible, ErrorPolicy, Jitter, Pauses, RetryPolicy, TargetSpec, TrialSpec,
    Warmup, text,
};

use super::command::{Phase, YcsbCommand};
use super::properties::Properties;
use super::{YcsbRefusal, YcsbTool, java, jdbc, lengths};

/// How long a run is that has no end: longer than any user waits.
const FOREVER: Duration = Duration::from_secs(100 * 366 * 86_400);
/// What `recordcount` is to both tools when it is 0 or missing.
const RECORDS_UNSAID: u64 = i32::MAX as u64;

/// A load or a run, in pgdyno's words.
#[derive(Debug)]
pub struct Plan {
    /// Parameters of the pack that tell how the table is made, where it has to be.
    pub table: Vec<String>,
    pub spec: TrialSpec,
    /// Without autocommit: a client commits after so many inserts, and at its end.
    pub commit_every: Option<NonZeroU64>,
    /// All operations; `None`: until the time is over.
    pub operations: Option<u64>,
    /// The number of the first key, and how many follow; without a count, all that are there.
    pub keys: PlanKeys,
    /// The limits of the tool's request distribution, as go-ycsb prints them.
    pub key_range: (u64, u64),
    pub distribution: String,
    /// The notebook; `Some(None)` is the usual one.
    pub store: Option<Option<PathBuf>>,
    /// Results go here instead of to standard output.
    pub export: Option<PathBuf>,
    pub usertable: String,
    /// Whether values that are read are checked.
    pub has_integrity: bool,
    /// What a user must know.
    pub warnings: Vec<String>,
    format: KeyFormat,
    padding: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanKeys {
    pub start: u64,
    /// How many; `None` when nothing says it.
    pub count: Option<u64>,
}

/// Properties and parameters that have the same meaning.
const SAME: [(&str, &str); 10] = [
    ("fieldcount", "fieldcount"),
    ("fieldlength", "fieldlength"),
    ("minfieldlength", "minfieldlength"),
    ("zeropadding", "zeropadding"),
    ("minscanlength", "minscanlength"),
    ("maxscanlength", "maxscanlength"),
    ("hotspotdatafraction", "hotspotdatafraction"),
    ("hotspotopnfraction", "hotspotopnfraction"),
    ("exponential.percentile", "exponentialpercentile"),
    ("exponential.frac", "exponentialfrac"),
];

/// Of these, those that the table is made with.
const OF_TABLE: [&str; 4] = ["fieldcount", "fieldlength", "minfieldlength", "zeropadding"];

/// Shares of operations with their defaults.
const SHARES: [(&str, f64); 5] = [
    ("readproportion", 0.95),
    ("updateproportion", 0.05),
    ("insertproportion", 0.0),
    ("scanproportion", 0.0),
    ("readmodifywriteproportion", 0.0),
];

/// Those that pgdyno can do in one way only: property and the value that it may have.
const ONLY: [(&str, &str, &str); 2] = [
    ("keyprefix", "user", "keys begin with user"),
    (
        "dropdata",
        "false",
        "pgdyno drops no table that another program may have made; drop it with psql",
    ),
];

/// Names of the core workload.
const WORKLOADS: [&str; 4] = [
    "site.ycsb.workloads.CoreWorkload",
    "com.yahoo.ycsb.workloads.CoreWorkload",
    "site.ycsb.CoreWorkload",
    "core",
];

impl Plan {
    /// Reads what is wanted.
    ///
    /// # Errors
    /// What cannot be had, and the way out.
    pub fn of(command: &YcsbCommand) -> Result<Self, YcsbRefusal> {
        let (tool, properties) = (command.tool, &command.properties);
        refuse(command)?;
        let mut warnings = super::known::warnings(tool, properties);
        let keys = keys(command)?;
        let operations = operations(command)?;
        let distribution = distribution(properties)?;
        // In a run without inserts there is nothing to be sent together.
        let batch = match command.phase {
            Phase::Load => batch(command)?,
            Phase::Run => 1,
        };
        let transactions = operations.map(|count| count.div_ceil(batch));
        let inserts = properties.share("insertproportion")?.unwrap_or(0.0);
        let (table, of_run) = params(command)?;
        let mut params = table.clone();
        params.push(format!("generators={}", generators(tool)));
        match command.phase {
            Phase::Load => {
                params.extend(load_params(keys, operations.unwrap_or(0)));
                if batch > 1 {
                    params.push(format!("insertbatch={batch}"));
                }
            }
            Phase::Run => {
                // The table knows it; what another tool loaded tells the longest of a few fields.
                params.retain(|param| !param.starts_with("fieldlength="));
                params.extend(of_run);
                params.push(format!("requestdistribution={distribution}"));
                if let Some(operations) = operations {
                    params.push(format!("operationcount={operations}"));
                }
                let begins_with_newest = ["latest", "exponential"].contains(&&*distribution);
                if let (Some(count), false) = (keys.count, begins_with_newest) {
                    params.push(format!("requeststart={}", keys.start));
                    params.push(format!("requestcount={count}"));
                }
            }
        }
        let (target, ignored) = target(tool, properties)?;
        warnings.extend(ignored);
        let threads = properties.count("threadcount")?.unwrap_or(1);
        let threads = clients(tool, threads, transactions)?;
        let retry = retry(command)?;
        let commit_every = commit_every(command, &mut warnings)?;
        // Of a load too it is the run's operations that are looked at.
        let of_run = properties.count("operationcount")?.unwrap_or(0);
        let expected = match distribution.as_str() {
            "zipfian" => (of_run as f64 * inserts * 2.0) as u64 + 1,
            _ => 0,
        };
        let count = keys
            .count
            .unwrap_or(RECORDS_UNSAID.saturating_sub(keys.start));
        let last = (keys.start + count + expected).saturating_sub(1);
        let goes_on = command.phase == Phase::Run
            || tool == YcsbTool::GoYcsb
            || properties.bool("core_workload_insertion_keep_going_on_error") == Some(true);
        let observe = pgdyno_observe::ObserveOptions::default();
        let mut spec = TrialSpec {
            mix: Some("custom".to_owned()),
            params,
            target,
            clients: Some(threads.into()),
            rate: properties
                .count("target")?
                .filter(|n| *n > 0)
                .map(|n| (n as f64 / batch as f64).into()),
            warmup: Warmup::Given(warmup(command)?),
            retry,
            errors: ErrorPolicy {
                continue_on_error: goes_on,
                retries_every_error: retry.tries() != 1,
                ends_on_last_try: !goes_on,
                ..ErrorPolicy::default()
            },
            observe: observe.spec,
            ..until(properties, transactions, threads)?
        };
        spec.compatible.log_share = needs_each(command)?.then_some(1.0);
        Ok(Self {
            table,
            spec,
            commit_every,
            operations,
            keys,
            key_range: (keys.start, last),
            distribution,
            store: properties
                .get("pgdyno.store")
                .map(|path| (!path.is_empty()).then(|| PathBuf::from(path))),
            export: properties.get("exportfile").map(PathBuf::from),
            usertable: identifier(properties, "table", "usertable")?,
            has_integrity: properties.bool("dataintegrity") == Some(true),
            warnings,
            format: key_format(command),
            padding: properties.count("zeropadding")?.unwrap_or(1) as usize,
        })
    }

    /// The key that a load begins with, where the format has one.
    pub fn first_key(&self) -> Option<String> {
        self.key(self.keys.start)
    }

    /// One of the first keys, by which formats can be distinguished: number 0 is the same in some.
    pub fn telling_key(&self) -> Option<String> {
        self.key(self.keys.start.max(1))
    }

    fn key(&self, number: u64) -> Option<String> {
        let number = self.format.number_in_key(number)?;
        Some(format!("user{number:0width$}", width = self.padding))
    }
}

/// A name in SQL without quotes, as the server folds it: in small letters.
fn identifier(properties: &Properties, name: &str, default: &str) -> Result<String, YcsbRefusal> {
    let said = properties
        .get(name)
        .map(str::trim)
        .filter(|said| !said.is_empty());
    let said = said.unwrap_or(default).to_ascii_lowercase();
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins = said.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if begins && said.chars().all(is_part) && said.len() <= 63 {
        Ok(said)
    } else {
        Err(YcsbRefusal::usage(format!(
            "{name}={said} is no name that SQL has without quotes"
        ))
        .hint("letters, digits and _; a schema is chosen in the URL: ?currentSchema=NAME"))
    }
}

/// How the tool draws, whatever the table's keys are.
fn generators(tool: YcsbTool) -> &'static str {
    match tool {
        YcsbTool::Ycsb => "ycsb",
        YcsbTool::GoYcsb => "go-ycsb",
    }
}

/// To both tools every order but `hashed` is ordered.
fn key_format(command: &YcsbCommand) -> KeyFormat {
    match (command.properties.get("insertorder"), command.tool) {
        (None | Some("hashed"), YcsbTool::Ycsb) => KeyFormat::Java,
        (None | Some("hashed"), YcsbTool::GoYcsb) => KeyFormat::GoYcsb,
        _ => KeyFormat::Ordered,
    }
}

/// What pgdyno cannot do, before anything is asked of a server.
fn refuse(command: &YcsbCommand) -> Result<(), YcsbRefusal> {
    let (tool, properties) = (command.tool, &command.properties);
    for (name, only, why) in ONLY {
        if let Some(value) = properties.get(name).map(str::trim)
            && !value.eq_ignore_ascii_case(only)
            && !value.is_empty()
        {
            return Err(
                YcsbRefusal::usage(format!("{name}={value} cannot be had: {why}"))
                    .hint(format!("leave it out, or say {name}={only}")),
            );
        }
    }
    match properties.get("workload") {
        None if tool == YcsbTool::Ycsb => {
            return Err(YcsbRefusal::usage("Missing property: workload")
                .hint("name a workload's file: -P workloads/workloada"));
        }
        Some(name) if !WORKLOADS.contains(&name.trim()) => {
            return Err(YcsbRefusal::usage(format!(
                "workload={name}: pgdyno has the core workload only"
            ))
            .hint("workload=site.ycsb.workloads.CoreWorkload"));
        }
        _ => {}
    }
    if let Some(class) = properties.get("db")
        && !class.ends_with("JdbcDBClient")
    {
        return Err(YcsbRefusal::usage(format!(
            "db={class}: pgdyno has the binding jdbc only"
        )));
    }
    if properties.count("batch.size")?.is_some_and(|size| size > 1) {
        return Err(YcsbRefusal::usage(
            "batches cannot be had: each insert is a statement of its own",
        )
        .hint("pgdyno load ycsb loads with COPY"));
    }
    refuse_raw(command)?;
    refuse_batches(command)?;
    let integrity = properties.bool("dataintegrity") == Some(true);
    let lengths = properties.get("fieldlengthdistribution");
    if integrity && lengths.is_some_and(|name| name != "constant") {
        return Err(YcsbRefusal::impossible(
            "Must have constant field size to check data integrity.",
        ));
    }
    Ok(())
}

/// How many inserts are sent together.
fn batch(command: &YcsbCommand) -> Result<u64, YcsbRefusal> {
    let properties = &command.properties;
    let is_on = properties.bool("jdbc.batchupdateapi") == Some(true);
    let size = match command.tool {
        YcsbTool::Ycsb if is_on => batch_size(properties)?,
        _ => None,
    };
    Ok(size.map_or(1, NonZeroU64::get))
}

/// What does not go with inserts that are sent together.
fn refuse_batches(command: &YcsbCommand) -> Result<(), YcsbRefusal> {
    let properties = &command.properties;
    if command.tool == YcsbTool::GoYcsb || properties.bool("jdbc.batchupdateapi") != Some(true) {
        return Ok(());
    }
    let has_inserts = properties.share("insertproportion")?.unwrap_or(0.0) > 0.0;
    let interval = properties.get("measurement.interval").unwrap_or("op");
    let why = match (command.phase, batch_size(properties)?) {
        (Phase::Run, _) if !has_inserts => return Ok(()),
        (Phase::Run, _) => "in a run, inserts of a batch would wait for other operations",
        (Phase::Load, None) => "without db.batchsize the inserts would never be sent",
        _ if retry_limit(command)? > 0 => "an insert of a batch is not tried again",
        _ if is_raw(command) => "measurementtype=raw does not keep the inserts of a batch",
        _ if needs_each(command)? => {
            "a series of parts of seconds does not keep the inserts of a batch"
        }
        _ if interval != "op" => "inserts of a batch have no schedule of their own",
        _ => return Ok(()),
    };
    let refusal = YcsbRefusal::usage(format!("jdbc.batchupdateapi=true cannot be had: {why}"));
    Err(refusal.hint("jdbc.batchupdateapi=true loads with -p db.batchsize=1000, or leave it out"))
}

/// Whether each operation is to be kept.
fn is_raw(command: &YcsbCommand) -> bool {
    let kind = command
        .properties
        .get("measurementtype")
        .unwrap_or_default();
    match command.tool {
        YcsbTool::Ycsb => kind.ends_with("raw"),
        YcsbTool::GoYcsb => kind == "raw" || kind == "csv",
    }
}

/// Whether figures are made of single operations: these themselves, or averages over parts of seconds.
fn needs_each(command: &YcsbCommand) -> Result<bool, YcsbRefusal> {
    let is_fine = match command.tool {
        YcsbTool::Ycsb => java::has_fine_series(&command.properties)?,
        YcsbTool::GoYcsb => false,
    };
    Ok(is_fine || is_raw(command))
}

/// What of single operations is not kept.
fn refuse_raw(command: &YcsbCommand) -> Result<(), YcsbRefusal> {
    let properties = &command.properties;
    if !needs_each(command)? {
        return Ok(());
    }
    let share = properties.share("readmodifywriteproportion")?;
    let has_parts =
        is_raw(command) && command.phase == Phase::Run && share.is_some_and(|share| share > 0.0);
    let tries = retry_limit(command)?;
    let why = match (has_parts, tries) {
        (true, _) => "a read-modify-write is kept as one, without its read and its update",
        (_, 1..) => "an insert that is tried again is kept as one",
        _ => return Ok(()),
    };
    let kind = properties.get("measurementtype").unwrap_or_default();
    if kind == "timeseries" {
        let ms = properties.get("timeseries.granularity").unwrap_or_default();
        let refusal =
            YcsbRefusal::usage(format!("timeseries.granularity={ms} cannot be had: {why}"));
        return Err(refusal.hint("whole seconds can: timeseries.granularity=1000"));
    }
    let refusal = YcsbRefusal::usage(format!("measurementtype={kind} cannot be had: {why}"));
    Err(refusal.hint(match command.tool {
        YcsbTool::Ycsb => "measurementtype=hdrhistogram counts them",
        YcsbTool::GoYcsb => "measurementtype=histogram counts them",
    }))
}

/// The numbers of keys that are loaded, or asked for.
fn keys(command: &YcsbCommand) -> Result<PlanKeys, YcsbRefusal> {
    let properties = &command.properties;
    let said = properties.count("recordcount")?.filter(|count| *count > 0);
    let records = said.unwrap_or(RECORDS_UNSAID);
    let start = properties.count("insertstart")?.unwrap_or(0);
    let count = properties.count("insertcount")?;
    let is_said = said.is_some() || count.is_some();
    let rows = count.unwrap_or(records.saturating_sub(start));
    if records < start.saturating_add(rows) {
        return Err(match command.tool {
            YcsbTool::Ycsb => YcsbRefusal::impossible(
                "Invalid combination of insertstart, insertcount and recordcount.\n\
                 recordcount must be bigger than insertstart + insertcount.",
            ),
            YcsbTool::GoYcsb => YcsbRefusal::usage(format!(
                "record count {records} must be bigger than insert start {start} + count {rows}"
            )),
        });
    }
    Ok(PlanKeys {
        start,
        count: is_said.then_some(rows),
    })
}

/// How many operations, if that is said: inserts of a load, operations of a run.
fn operations(command: &YcsbCommand) -> Result<Option<u64>, YcsbRefusal> {
    let properties = &command.properties;
    let said = match command.phase {
        Phase::Run => properties.count("operationcount")?,
        Phase::Load => match properties.count("insertcount")? {
            Some(count) => Some(count),
            None => properties.count("recordcount")?,
        },
    };
    let said = said.filter(|count| *count > 0);
    if said.is_none() && command.phase == Phase::Load && command.tool == YcsbTool::Ycsb {
        let text = "nothing says how many rows to load";
        return Err(YcsbRefusal::usage(text).hint("such as -p recordcount=1000"));
    }
    Ok(said)
}

/// A load's parameters: inserts alone, from this key on.
fn load_params(keys: PlanKeys, rows: u64) -> Vec<String> {
    let mut params = vec![
        "readproportion=0".to_owned(),
        "updateproportion=0".to_owned(),
        "insertproportion=1".to_owned(),
        // From the first key on, whatever rows there are: as YCSB does.
        "inserted=0".to_owned(),
        "recordcount=0".to_owned(),
        format!("insertcount={rows}"),
    ];
    if keys.start > 0 {
        params.push(format!("insertstart={}", keys.start));
    }
    params
}

/// Parameters of the table, and of the run.
fn params(command: &YcsbCommand) -> Result<(Vec<String>, Vec<String>), YcsbRefusal> {
    let properties = &command.properties;
    let (mut table, mut run) = (Vec::new(), Vec::new());
    for (name, default) in [("table", "usertable"), ("fieldnameprefix", "field")] {
        let said = identifier(properties, name, default)?;
        if said != default {
            table.push(format!("{name}={said}"));
        }
    }
    match key_format(command) {
        KeyFormat::Ordered => table.push("insertorder=ordered".to_owned()),
        format => {
            table.push("insertorder=hashed".to_owned());
            table.push(format!("keyformat={}", format.name()));
        }
    }
    // go-ycsb does not know minfieldlength: its fields begin with one character.
    let is_known = |property: &str| command.tool == YcsbTool::Ycsb || property != "minfieldlength";
    for (property, param) in SAME.into_iter().filter(|(name, _)| is_known(name)) {
        if let Some(value) = properties.get(property) {
            let pair = format!("{param}={}", value.trim());
            if OF_TABLE.contains(&param) {
                table.push(pair)
            } else {
                run.push(pair)
            }
        }
    }
    match properties.get("fieldlengthdistribution") {
        None => {}
        Some("histogram") => {
            let lengths = lengths::expression(properties.get("fieldlengthhistogram"))?;
            table.push("fieldlengthdistribution=expression".to_owned());
            table.push(format!("fieldlengthexpression={lengths}"));
        }
        Some(lengths) if ["constant", "uniform", "zipfian"].contains(&lengths) => {
            table.push(format!("fieldlengthdistribution={lengths}"));
        }
        Some(other) => {
            let text = format!("Unknown field length distribution \"{other}\"");
            let known = "it is one of constant, uniform, zipfian, histogram";
            return Err(YcsbRefusal::usage(text).hint(known));
        }
    }
    if let Some(is_on) = properties.bool("dataintegrity") {
        table.push(format!("dataintegrity={is_on}"));
        run.push("on_mismatch=count".to_owned());
    }
    for (name, default) in SHARES {
        let share = properties.share(name)?.unwrap_or(default);
        run.push(format!("{name}={share}"));
    }
    for name in ["readallfields", "writeallfields"] {
        if let Some(is_on) = properties.bool(name) {
            run.push(format!("{name}={is_on}"));
        }
    }
    if let Some(lengths) = properties.get("scanlengthdistribution") {
        if !["uniform", "zipfian"].contains(&lengths) {
            let text = format!("Distribution \"{lengths}\" not allowed for scan length");
            return Err(YcsbRefusal::usage(text).hint("it is uniform or zipfian"));
        }
        run.push(format!("scanlengthdistribution={lengths}"));
    }
    Ok((table, run))
}

fn distribution(properties: &Properties) -> Result<String, YcsbRefusal> {
    let name = properties.get("requestdistribution").unwrap_or("uniform");
    let known = [
        "uniform",
        "zipfian",
        "latest",
        "hotspot",
        "exponential",
        "sequential",
    ];
    if known.contains(&name) {
        Ok(name.to_owned())
    } else {
        Err(
            YcsbRefusal::usage(format!("Unknown request distribution \"{name}\""))
                .hint(format!("it is one of {}", known.join(", "))),
        )
    }
}

/// Where the database is, and what of its URL does nothing.
fn target(
    tool: YcsbTool,
    properties: &Properties,
) -> Result<(TargetSpec, Vec<String>), YcsbRefusal> {
    let text = |name: &str, default: &str| properties.get(name).unwrap_or(default).to_owned();
    let (url, ignored) = match tool {
        YcsbTool::Ycsb => {
            let Some(url) = properties.get("db.url") else {
                return Err(YcsbRefusal::usage("Missing property: db.url")
                    .hint("such as -p db.url=jdbc:postgresql://localhost:5432/ycsb"));
            };
            let (user, password) = (text("db.user", ""), text("db.passwd", ""));
            let place = jdbc::place(url, &user, &password)?;
            (place.url, place.ignored)
        }
        YcsbTool::GoYcsb => {
            let port = properties.count("pg.port")?.unwrap_or(5432);
            let password = match text("pg.password", "") {
                password if password.is_empty() => password,
                password => format!(":{}", jdbc::encoded(&password)),
            };
            let url = format!(
                "postgresql://{}{password}@{}:{port}/{}?sslmode={}",
                jdbc::encoded(&text("pg.user", "root")),
                // A folder of sockets too.
                jdbc::encoded(&text("pg.host", "127.0.0.1")),
                jdbc::encoded(&text("pg.db", "test")),
                text("pg.sslmode", "disable"),
            );
            (url, Vec::new())
        }
    };
    let spec = TargetSpec {
        urls: vec![Address::from(url)],
        ..TargetSpec::default()
    };
    let warning = |name| format!("db.url: {name} does nothing here: it is a setting of pgJDBC");
    Ok((spec, ignored.into_iter().map(warning).collect()))
}

/// As many clients as there are threads, and no more than operations.
fn clients(tool: YcsbTool, threads: u64, operations: Option<u64>) -> Result<u32, YcsbRefusal> {
    if threads == 0 {
        let text = "threadcount=0: there must be at least one thread";
        return Err(YcsbRefusal::usage(text));
    }
    // YCSB goes on without end where nothing says how many operations there are.
    let all = match tool {
        YcsbTool::Ycsb => operations,
        YcsbTool::GoYcsb => Some(operations.unwrap_or(0)),
    };
    let threads = match (all, tool) {
        (Some(all), YcsbTool::GoYcsb) if all < threads => {
            return Err(YcsbRefusal::impossible(format!(
                "totalOpCount(operationcount/insertcount/recordcount): {all} should be bigger than \
                 threadCount: {threads}"
            ))
            .hint("-p operationcount=N (a load: recordcount), --threads"));
        }
        (Some(all), _) => threads.min(all),
        (None, _) => threads,
    };
    match u32::try_from(threads) {
        Ok(threads) if threads <= 100_000 => Ok(threads),
        _ => Err(YcsbRefusal::usage(format!(
            "threadcount={}: at most 100,000",
            text::count(threads)
        ))),
    }
}

/// When the trial ends: after all operations or when the time is over, whichever comes first.
fn until(
    properties: &Properties,
    operations: Option<u64>,
    threads: u32,
) -> Result<TrialSpec, YcsbRefusal> {
    let seconds = properties.count("maxexecutiontime")?.filter(|s| *s > 0);
    let each = operations.map(|all| all / u64::from(threads));
    let more = operations.map(|all| (all % u64::from(threads)) as u32);
    Ok(TrialSpec {
        workload: vec!["ycsb".to_owned()],
        transactions: each.filter(|_| seconds.is_none()),
        duration: Some(seconds.map_or(FOREVER, Duration::from_secs)),
        compatible: Compatible {
            transactions_per_client_max: each,
            one_more_transaction: more,
            ..Compatible::default()
        },
        ..TrialSpec::default()
    })
}

fn warmup(command: &YcsbCommand) -> Result<Duration, YcsbRefusal> {
    let seconds = command.properties.count("warmuptime")?.unwrap_or(0);
    Ok(match command.phase {
        Phase::Run if command.tool == YcsbTool::GoYcsb => Duration::from_secs(seconds),
        _ => Duration::ZERO,
    })
}

/// How often an insert of a load is tried again.
fn retry_limit(command: &YcsbCommand) -> Result<u64, YcsbRefusal> {
    let limit = command
        .properties
        .count("core_workload_insertion_retry_limit")?;
    Ok(limit.filter(|_| command.phase == Phase::Load).unwrap_or(0))
}

/// Inserts of a load are tried again after any error, if that is asked for.
fn retry(command: &YcsbCommand) -> Result<RetryPolicy, YcsbRefusal> {
    let interval = command
        .properties
        .count("core_workload_insertion_retry_interval")?;
    let limit = retry_limit(command)?;
    if limit == 0 {
        return Ok(RetryPolicy {
            max_tries: Some(1),
            ..RetryPolicy::default()
        });
    }
    let pause = Duration::from_secs(interval.unwrap_or(3));
    let backoff = (!pause.is_zero()).then_some(Backoff {
        base: pause,
        cap: pause,
        jitter: Jitter::None,
    });
    Ok(RetryPolicy {
        max_tries: Some(u32::try_from(limit).unwrap_or(u32::MAX).saturating_add(1)),
        backoff: Some(Pauses(backoff)),
        ..RetryPolicy::default()
    })
}

/// Without autocommit, as YCSB's JDBC binding does it: inserts are committed one by one, or so many
/// together; what is read and updated in between, and all that is left at the end, with them.
fn commit_every(
    command: &YcsbCommand,
    warnings: &mut Vec<String>,
) -> Result<Option<NonZeroU64>, YcsbRefusal> {
    let properties = &command.properties;
    let is_off = properties.bool("jdbc.autocommit") == Some(false);
    // A batch that is sent together is committed together.
    let is_batch = command.phase == Phase::Load && batch(command)? > 1;
    if command.tool == YcsbTool::GoYcsb || !is_off || is_batch {
        return Ok(None);
    }
    let together = batch_size(properties)?.unwrap_or(NonZeroU64::MIN);
    if together.get() > 1 && retry_limit(command)? > 0 {
        let text = "core_workload_insertion_retry_limit cannot be had with db.batchsize and \
                    jdbc.autocommit=false: an error rolls back all inserts of its block, and only one \
                    of them would be tried again";
        return Err(YcsbRefusal::usage(text).hint("leave out db.batchsize, or the retries"));
    }
    let share = |name| Ok::<_, YcsbRefusal>(properties.share(name)?.unwrap_or(0.0));
    let updates = properties.share("updateproportion")?.unwrap_or(0.05);
    let writes = updates + share("readmodifywriteproportion")?;
    if command.phase == Phase::Run && writes > 0.0 {
        warnings.push(
            "jdbc.autocommit=false: updates are committed with the next insert of their thread, or at \
             the end, and lock their rows until then"
                .to_owned(),
        );
    }
    Ok(Some(together))
}

/// `db.batchsize`; what is not positive is none, as there.
fn batch_size(properties: &Properties) -> Result<Option<NonZeroU64>, YcsbRefusal> {
    let Some(text) = properties.get("db.batchsize").map(str::trim) else {
        return Ok(None);
    };
    let size: i64 = text.parse().map_err(|_| {
        let refusal = YcsbRefusal::usage(format!("Invalid db.batchsize specified: {text}"));
        refusal.hint("it is a whole number, such as 1000")
    })?;
    Ok(u64::try_from(size).ok().and_then(NonZeroU64::new))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::command::TypedCommand;
    use pgdyno_spec::Until;

    pub(crate) fn plan(tool: YcsbTool, verb: &str, pairs: &str) -> Plan {
        let (database, place) = match tool {
            YcsbTool::Ycsb => ("jdbc", "db.url=jdbc:postgresql://h/d workload=core"),
            YcsbTool::GoYcsb => ("pg", "pg.db=d"),
        };
        let mut words = vec![verb.to_owned(), database.to_owned()];
        for pair in format!("{place} {pairs}").split_whitespace() {
            words.extend(["-p".to_owned(), pair.to_owned()]);
        }
        match YcsbCommand::read(tool, &words) {
            Ok(TypedCommand::Command(command)) => Plan::of(&command).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_not_said_is_as_in_core_workload() {
        let run = plan(YcsbTool::Ycsb, "run", "");
        assert_eq!(
            run.spec.params.join(" "),
            "insertorder=hashed keyformat=java generators=ycsb readproportion=0.95 updateproportion=0.05 \
             insertproportion=0 scanproportion=0 readmodifywriteproportion=0 \
             requestdistribution=uniform"
        );
        assert_eq!((run.spec.clients(), run.operations), (1, None));
        assert_eq!(run.spec.until(), Until::Elapsed(FOREVER));
        assert!(run.spec.errors.continue_on_error && run.spec.rate.is_none());
        let go = plan(
            YcsbTool::GoYcsb,
            "run",
            "recordcount=10 operationcount=5 pg.password=a/b minfieldlength=5",
        );
        let params = go.spec.params.join(" ");
        assert!(!params.contains("minfieldlength"), "{params}");
        assert_eq!(go.spec.clients(), 1);
        assert_eq!(go.key_range, (0, 9));
        assert_eq!(
            go.spec.target.urls[0].secret(),
            "postgresql://root:a%2Fb@127.0.0.1:5432/d?sslmode=disable"
        );
    }

    #[test]
    fn operations_are_dealt_to_threads_without_a_rest() {
        let pairs = "operationcount=10 threadcount=4 target=500 maxexecutiontime=7";
        let run = plan(YcsbTool::Ycsb, "run", pairs);
        let compatible = &run.spec.compatible;
        assert_eq!(
            (
                compatible.transactions_per_client_max,
                compatible.one_more_transaction
            ),
            (Some(2), Some(2))
        );
        assert_eq!(run.spec.until(), Until::Elapsed(Duration::from_secs(7)));
        assert_eq!(run.spec.rate, Some(500.0.into()));
        let run = plan(YcsbTool::Ycsb, "run", "operationcount=3 threadcount=4");
        assert_eq!((run.spec.clients(), run.spec.transactions), (3, Some(1)));
    }

    #[test]
    fn a_load_inserts_from_its_first_key_on() {
        let load = plan(
            YcsbTool::Ycsb,
            "load",
            "recordcount=100 insertstart=40 insertcount=20 insertorder=ordered zeropadding=4 \
             core_workload_insertion_retry_limit=2 readproportion=1",
        );
        assert_eq!(
            load.spec.params.join(" "),
            "insertorder=ordered zeropadding=4 generators=ycsb readproportion=0 \
             updateproportion=0 insertproportion=1 inserted=0 recordcount=0 insertcount=20 insertstart=40"
        );
        assert_eq!(load.first_key().unwrap(), "user0040");
        assert_eq!((load.operations, load.spec.retry.tries()), (Some(20), 3));
        assert!(!load.spec.errors.continue_on_error);
        let first = |tool| plan(tool, "load", "recordcount=500 insertstart=1").first_key();
        assert_eq!(first(YcsbTool::Ycsb).unwrap(), "user8517097267634966620");
        assert_eq!(first(YcsbTool::GoYcsb).unwrap(), "user6284782960179005422");
    }

    #[test]
    fn a_run_asks_for_the_part_that_is_named() {
        let pairs = "recordcount=100 insertstart=40 insertcount=20 operationcount=50 \
                     insertproportion=0.1 requestdistribution=zipfian fieldlength=9";
        let run = plan(YcsbTool::GoYcsb, "run", &format!("{pairs} threadcount=1"));
        let params = run.spec.params.join(" ");
        assert!(
            params.ends_with(
                "requestdistribution=zipfian operationcount=50 requeststart=40 requestcount=20"
            ),
            "{params}"
        );
        assert!(!params.contains("fieldlength"), "{params}");
        assert_eq!(run.key_range, (40, 70));
        let load = plan(YcsbTool::GoYcsb, "load", &format!("{pairs} threadcount=1"));
        assert_eq!(load.key_range, (40, 70));
        assert!(params.contains(" generators=go-ycsb "), "{params}");
        let pairs = "operationcount=5 recordcount=300 insertorder=ordered";
        let ordered = plan(YcsbTool::GoYcsb, "run", pairs);
        let params = ordered.spec.params.join(" ");
        assert!(params.contains("generators=go-ycsb"), "{params}");
        let latest = plan(
            YcsbTool::Ycsb,
            "run",
            "recordcount=100 requestdistribution=latest",
        );
        let params = latest.spec.params.join(" ");
        assert!(!params.contains("requestcount"), "{params}");
    }
}
