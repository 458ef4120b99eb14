//! What `ycsb` is to be, in the words of the pack.

use super::{CockroachWorkload, Flags};
use crate::flags::Verb;
use crate::flags::go_values::quoted;

/// The pack's read-modify-write in a transaction that locks the row when it reads it.
pub const LOCKING: &str = "for-update";
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
const MISSING: [(&str, &str); 2] = [
    (
        "json",
        "pgdyno's usertable has a column for each field, and no JSONB",
    ),
    ("delete-freq", "pgdyno's YCSB has no deletes"),
];

/// Reads what the workload is to be.
///
/// # Errors
/// What is wrong, in cockroach's words where it has some.
pub(super) fn workload(verb: Verb, flags: &Flags<'_>) -> Result<CockroachWorkload, String> {
    let typed = flags.text("workload").unwrap_or("B").to_uppercase();
    let mix = typed.to_lowercase();
    let Some((_, families)) = MIXES.iter().find(|(name, _)| *name == mix) else {
        return Err(format!("Unknown workload: {}", quoted(&typed)));
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
            return Err("Custom workload frequencies do not sum to 1.0".to_owned());
        }
        for (flag, param) in SHARES {
            set(param, flags.float(flag).to_string());
        }
    } else if sum != 0.0 {
        return Err("Custom workload frequencies set with non-custom workload".to_owned());
    }
    for (name, value) in numbers(verb, flags)? {
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
        for (name, value) in of_run(&mix, flags)? {
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
    Ok(CockroachWorkload {
        mix: Some(mix),
        params,
        of_products,
        // What cockroach's own client library does with transactions of several statements.
        retries: flags.is_set("read-modify-write-in-txn"),
        ..CockroachWorkload::default()
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
            "insertStart + insertCount ({end}) must be <= recordCount ({record})"
        ));
    }
    // A client with a range of its own: what is loaded is what it finds, and it inserts where the others do not.
    if verb == Verb::Run && start > 0 {
        return Ok(vec![("insertstart", record)]);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::{all, parse};
    use crate::generator::TransactionGenerator;

    fn of(verb: Verb, line: &str) -> CockroachWorkload {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let parsed = parse(&all(TransactionGenerator::Ycsb, verb), &arguments).unwrap();
        workload(verb, &Flags(&parsed)).unwrap()
    }

    fn params(verb: Verb, line: &str) -> Vec<String> {
        of(verb, line).params
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
        // Several clients, each with a range.
        assert_eq!(
            params(Verb::Run, "--insert-start=10 --insert-count=5"),
            ["insertstart=15"]
        );
        assert_eq!(
            params(
                Verb::Run,
                "--insert-start=10 --insert-count=5 --record-count=20"
            ),
            ["insertstart=20"]
        );
    }

    #[test]
    fn mixes_and_their_shares_are_the_packs() {
        let of = |line: &str| of(Verb::Run, line);
        assert_eq!(of("").mix.as_deref(), Some("b"));
        assert_eq!(of("--workload=d").mix.as_deref(), Some("d"));
        let scans = of("--workload=E");
        assert_eq!(
            (scans.mix.as_deref(), scans.params),
            (Some("e"), vec!["maxscanlength=1000".to_owned()])
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
            self::of(Verb::Init, line)
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
}
