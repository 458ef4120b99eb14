//! What `tpcc` is to be, in the words of the pack.

use super::{CockroachWorkload, Flags, go};
use crate::flags::{ParsedFlags, Verb};

/// The pack's parameter for one statement to all lines of an order.
pub const FORM_BATCH: &str = "form=batch";
/// The same for a statement to each line.
pub const FORM_STATEMENTS: &str = "form=statements";
/// Workers of a warehouse: TPC-C's terminals.
const WORKERS_A_WAREHOUSE: u64 = 10;
/// cockroach's names of the transactions, and the pack's parameters with their weights.
const WEIGHTS: [(&str, &str); 5] = [
    ("newOrder", "new_orders"),
    ("payment", "payments"),
    ("orderStatus", "order_statuses"),
    ("delivery", "deliveries"),
    ("stockLevel", "stock_levels"),
];
/// Flags of CockroachDB's own tables, each with the values that ask for nothing.
const REFUSED: [(&str, &[&str]); 10] = [
    ("client-partitions", &["0"]),
    ("families", &["false"]),
    ("interleaved", &["false"]),
    ("partition-affinity", &["", "-1"]),
    ("partition-strategy", &["", "replication"]),
    ("partitions", &["1"]),
    ("regions", &[""]),
    ("replicate-static-columns", &["false"]),
    ("survival-goal", &["", "zone", "az"]),
    ("zones", &[""]),
];

/// Warehouses that are worked on.
///
/// # Errors
/// What is wrong with them, in cockroach's words.
pub fn active_warehouses(parsed: &ParsedFlags) -> Result<u64, String> {
    let flags = Flags(parsed);
    let all = warehouses(&flags)?;
    match flags.count("active-warehouses")?.unwrap_or(0) {
        0 => Ok(all),
        active if active > all => {
            Err("--active-warehouses needs to be less than or equal to warehouses".to_owned())
        }
        active => Ok(active),
    }
}

/// Whether the conditions that read all customers and order lines are checked.
pub fn checks_all(parsed: &ParsedFlags) -> bool {
    Flags(parsed).is_set("expensive-checks")
}

/// Whether no transaction leaves its warehouse.
pub fn is_local(parsed: &ParsedFlags) -> bool {
    Flags(parsed).is_set("local-warehouses")
}

/// Reads what the workload is to be.
///
/// # Errors
/// What is wrong, in cockroach's words.
pub(super) fn workload(verb: Verb, flags: &Flags<'_>) -> Result<CockroachWorkload, String> {
    for (name, nothing) in REFUSED {
        if let Some(value) = flags.text(name)
            && !nothing.contains(&value)
        {
            return Err(format!(
                "--{name}={value} cannot be had: pgdyno leaves it to the server where rows are; after init \
                 psql can change that (ALTER TABLE … PARTITION BY, CONFIGURE ZONE, SET LOCALITY)"
            ));
        }
    }
    let all = warehouses(flags)?;
    let active = active_warehouses(flags.0)?;
    let waits = waits(flags)?;
    let wanted = active.saturating_mul(WORKERS_A_WAREHOUSE);
    let workers = match flags.count("workers")?.unwrap_or(0) {
        0 => wanted,
        workers => workers,
    };
    if waits && workers != wanted {
        return Err(format!(
            "--wait > 0 and --warehouses={active} requires --workers={wanted}"
        ));
    }
    let mut params = Vec::new();
    let makes_tables = flags.makes_tables(verb);
    // A run works on the first of the warehouses that are there.
    if makes_tables || (verb == Verb::Check && flags.text("warehouses").is_some()) {
        params.push(format!("warehouses={all}"));
    }
    if makes_tables || flags.text("fks").is_some() {
        let has_keys = flags.bool("fks").unwrap_or(true);
        params.push(format!("fks={has_keys}"));
    }
    if verb == Verb::Run {
        params.push(format!("active_warehouses={active}"));
        params.push(format!("think_times={waits}"));
        // As cockroach: one statement for all lines of an order.
        params.push(FORM_BATCH.to_owned());
        params.extend(weights(&WEIGHTS, flags.text("mix").unwrap_or_default())?);
        if is_local(flags.0) {
            params.push("remote_line_percent=0".to_owned());
            params.push("remote_payment_percent=0".to_owned());
        }
    }
    Ok(CockroachWorkload {
        params,
        clients: Some(usize::try_from(workers).unwrap_or(usize::MAX)),
        retries: true,
        ..CockroachWorkload::default()
    })
}

fn warehouses(flags: &Flags<'_>) -> Result<u64, String> {
    match flags.int("warehouses").unwrap_or(1) {
        number @ 1.. => Ok(number as u64),
        _ => Err("--warehouses must be positive".to_owned()),
    }
}

/// `--wait`: a word of 19.1, or a factor of later versions.
fn waits(flags: &Flags<'_>) -> Result<bool, String> {
    let text = flags.text("wait").unwrap_or("true");
    match text.to_lowercase().as_str() {
        // The flag alone.
        "" | "on" => return Ok(true),
        "off" => return Ok(false),
        _ => {}
    }
    if let Ok(waits) = go::bool(text) {
        return Ok(waits);
    }
    match go::float(text) {
        Ok(0.0) => Ok(false),
        Ok(1.0) => Ok(true),
        Ok(factor) if factor < 0.0 => Err("cannot set --wait to a negative value".to_owned()),
        Ok(factor) => Err(format!(
            "--wait={factor} cannot be had: workers key and think as TPC-C says (true), or not at all (false)"
        )),
        Err(why) => Err(format!("--wait={text}: {why}")),
    }
}

/// `--mix` of these transactions and parameters with their weights: the pack's parameters; a transaction that is not named is not run.
pub(super) fn weights(known: &[(&str, &str)], mix: &str) -> Result<Vec<String>, String> {
    let mut found = vec![0; known.len()];
    let mix = match mix.trim() {
        // The pack's own mix.
        "" => return Ok(Vec::new()),
        mix => mix,
    };
    for item in mix.split(',') {
        let Some((name, weight)) = item.split_once('=') else {
            return Err(format!("Invalid mix {mix}: {item:?} is no name=weight"));
        };
        let Some(place) = known.iter().position(|(its, _)| *its == name.trim()) else {
            let known: Vec<&str> = known.iter().map(|(its, _)| *its).collect();
            let known = known.join(", ");
            return Err(format!(
                "Invalid mix {mix}, no such transaction {name} (there are {known})"
            ));
        };
        match weight.trim().parse::<u32>() {
            Ok(weight) if weight <= 10_000 => found[place] = weight,
            _ => {
                return Err(format!(
                    "Invalid mix {mix}: the weight {weight} is no whole number of 0 to 10000"
                ));
            }
        }
    }
    if found.iter().all(|weight| *weight == 0) {
        return Err(format!("Invalid mix {mix}: all weights are 0"));
    }
    let params = known.iter().zip(found);
    Ok(params
        .map(|((_, param), weight)| format!("{param}={weight}"))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::{all, parse};
    use crate::generator::TransactionGenerator;

    fn of(verb: Verb, line: &str) -> Result<CockroachWorkload, String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let parsed = parse(&all(TransactionGenerator::Tpcc, verb), &arguments).unwrap();
        workload(verb, &Flags(&parsed))
    }

    #[test]
    fn init_says_how_the_tables_are_to_be_and_a_run_works_on_the_first_warehouses() {
        let init = of(Verb::Init, "--warehouses=7 --fks=false").unwrap();
        assert_eq!(init.params, ["warehouses=7", "fks=false"]);
        let run = of(Verb::Run, "").unwrap();
        assert_eq!(
            run.params,
            ["active_warehouses=1", "think_times=true", "form=batch"]
        );
        assert_eq!((run.clients, run.retries), (Some(10), true));
        let run = of(
            Verb::Run,
            "--warehouses=7 --active-warehouses=3 --wait=false --mix=payment=3,newOrder=2 --local-warehouses",
        );
        let run = run.unwrap();
        assert_eq!(run.clients, Some(30));
        assert_eq!(
            run.params,
            [
                "active_warehouses=3",
                "think_times=false",
                "form=batch",
                "new_orders=2",
                "payments=3",
                "order_statuses=0",
                "deliveries=0",
                "stock_levels=0",
                "remote_line_percent=0",
                "remote_payment_percent=0"
            ]
        );
        let both = of(Verb::Run, "--init --warehouses=2 --wait=0 --workers=5").unwrap();
        assert_eq!(both.params[..2], ["warehouses=2", "fks=true"]);
        assert_eq!(both.clients, Some(5));
        assert!(of(Verb::Check, "").unwrap().params.is_empty());
    }

    #[test]
    fn waiting_is_said_in_the_words_of_all_versions() {
        for (wait, waits) in [
            ("", true),
            ("--wait", true),
            ("--wait=1", true),
            ("--wait=1.0", true),
            ("--wait=on", true),
            ("--wait=false", false),
            ("--wait=0.0", false),
            ("--wait=off", false),
        ] {
            let run = of(Verb::Run, wait).unwrap();
            assert_eq!(run.params[1], format!("think_times={waits}"), "{wait}");
        }
    }

    #[test]
    fn what_makes_no_sense_or_needs_cockroachs_tables_is_refused() {
        for (line, said) in [
            ("--warehouses=0", "--warehouses must be positive"),
            (
                "--active-warehouses=2",
                "--active-warehouses needs to be less than or equal to warehouses",
            ),
            (
                "--workers=7",
                "--wait > 0 and --warehouses=1 requires --workers=10",
            ),
            ("--wait=-1", "cannot set --wait to a negative value"),
            ("--wait=0.5", "--wait=0.5 cannot be had: workers key"),
            ("--wait=no", "--wait=no: "),
            ("--mix=newOrder", "Invalid mix newOrder: "),
            (
                "--mix=order=1",
                "no such transaction order (there are newOrder, ",
            ),
            ("--mix=newOrder=-1", "the weight -1 is no whole number"),
            ("--mix=newOrder=0", "all weights are 0"),
            ("--partitions=3", "--partitions=3 cannot be had: "),
            ("--zones=a,b", "--zones=a,b cannot be had: "),
            ("--interleaved", "--interleaved=true cannot be had: "),
        ] {
            let why = of(Verb::Run, line).unwrap_err();
            assert!(why.contains(said), "{line}: {why}");
        }
        let nothing = "--partitions=1 --partition-affinity=-1 --interleaved=false --zones=";
        assert!(of(Verb::Run, nothing).is_ok());
    }
}
