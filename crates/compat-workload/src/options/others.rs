//! What the smaller workloads are to be: most of their flags are parameters of their packs by name.

use super::tpcc::weights;
use super::{CockroachWorkload, Flags, go};
use crate::flags::{Kind, Verb, own};
use crate::generator::TransactionGenerator;

/// Where rows are is the server's business.
const RANGES: &str =
    "only CockroachDB has ranges; after init its psql can split them (ALTER TABLE … SPLIT AT)";
const REGIONS: &str = "only CockroachDB has tables of several regions; after init its psql can make them (SET LOCALITY)";

/// Flags that cannot be had, by workload: flag, the value that asks for nothing, and why.
fn missing(
    generator: TransactionGenerator,
) -> &'static [(&'static str, &'static str, &'static str)] {
    match generator {
        TransactionGenerator::Conflict => {
            &[("table", "conflict", "pgdyno's table is called conflict")]
        }
        TransactionGenerator::Connectionlatency => &[(
            "locality",
            "",
            "only CockroachDB has localities; name the run in the notebook (pgdyno note)",
        )],
        TransactionGenerator::Insights => &[
            ("ranges", "10", RANGES),
            (
                "scaleStats",
                "false",
                "sessions keep their application_name for the whole run",
            ),
        ],
        TransactionGenerator::Ledger => &[
            (
                "historical-balance",
                "false",
                "only CockroachDB has AS OF SYSTEM TIME",
            ),
            (
                "inline-args",
                "false",
                "--method=simple sends values within statements",
            ),
            (
                "interleaved",
                "false",
                "only CockroachDB had interleaved tables, until 21.1",
            ),
            (
                "parallel-stmts",
                "false",
                "only CockroachDB had RETURNING NOTHING, until 19.1",
            ),
            ("splits", "0", RANGES),
        ],
        TransactionGenerator::Movr => &[
            ("multi-region", "false", REGIONS),
            ("num-ranges", "9", RANGES),
            ("survive", "az", REGIONS),
        ],
        _ => &[],
    }
}

/// Flags that are no parameters.
const OTHERWISE: [&str; 2] = ["mix", "infer-crdb-region-column"];

/// cockroach's names of the transactions of ledger, and the pack's parameters with their weights.
const LEDGER: [(&str, &str); 4] = [
    ("balance", "balances"),
    ("withdrawal", "withdrawals"),
    ("deposit", "deposits"),
    ("reversal", "reversals"),
];

/// Reads what the workload is to be.
///
/// # Errors
/// What is wrong.
pub(super) fn workload(
    generator: TransactionGenerator,
    verb: Verb,
    flags: &Flags<'_>,
) -> Result<CockroachWorkload, String> {
    let missing = missing(generator);
    flags.refuse(missing)?;
    let given = own(generator).iter().filter(|flag| {
        flag.idle.is_none()
            && !OTHERWISE.contains(&flag.name)
            && missing.iter().all(|(name, _, _)| *name != flag.name)
    });
    let mut params: Vec<String> = given
        .filter_map(|flag| {
            let text = flags.text(flag.name)?;
            let value = match flag.kind {
                Kind::Bool => go::bool(text).ok()?.to_string(),
                Kind::Uint => go::uint(text).ok()?.min(i64::MAX as u64).to_string(),
                _ => go::int(text).ok()?.to_string(),
            };
            Some(format!("{}={value}", flag.name.replace('-', "_")))
        })
        .collect();
    if generator == TransactionGenerator::Ledger && verb == Verb::Run {
        params.extend(weights(&LEDGER, flags.text("mix").unwrap_or_default())?);
    }
    Ok(CockroachWorkload {
        params,
        // CockroachDB tries single statements again by itself, and its client library ledger's transactions.
        retries: true,
        connects: generator == TransactionGenerator::Connectionlatency,
        ..CockroachWorkload::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::{all, parse};

    fn of(
        generator: TransactionGenerator,
        verb: Verb,
        line: &str,
    ) -> Result<CockroachWorkload, String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let parsed = parse(&all(generator, verb), &arguments).unwrap();
        workload(generator, verb, &Flags(&parsed))
    }

    #[test]
    fn flags_are_parameters_and_what_is_not_given_the_tables_know() {
        let movr = of(
            TransactionGenerator::Movr,
            Verb::Init,
            "--num-users=0x10 --num-ranges=9 --multi-region=false",
        );
        assert_eq!(movr.unwrap().params, ["num_users=16"]);
        assert!(
            of(TransactionGenerator::Movr, Verb::Init, "")
                .unwrap()
                .params
                .is_empty()
        );
        let indexes = "--unique-indexes --cycle-length=18446744073709551615 --seed=3";
        let indexes = of(TransactionGenerator::Indexes, Verb::Run, indexes).unwrap();
        assert_eq!(
            indexes.params,
            ["cycle_length=9223372036854775807", "unique_indexes=true"]
        );
        let ledger = of(
            TransactionGenerator::Ledger,
            Verb::Run,
            "--mix=deposit=1,balance=3",
        )
        .unwrap();
        assert_eq!(
            ledger.params,
            ["balances=3", "withdrawals=0", "deposits=1", "reversals=0"]
        );
        assert!(
            of(TransactionGenerator::Connectionlatency, Verb::Run, "")
                .unwrap()
                .connects
        );
    }

    #[test]
    fn what_only_cockroachdb_has_is_refused_by_name_with_the_reason() {
        for (generator, line, why) in [
            (
                TransactionGenerator::Conflict,
                "--table=mine",
                "--table cannot be had: pgdyno's table",
            ),
            (
                TransactionGenerator::Connectionlatency,
                "--locality=east",
                "--locality cannot be had: only CockroachDB",
            ),
            (
                TransactionGenerator::Insights,
                "--ranges=3",
                "--ranges cannot be had: only CockroachDB has ranges",
            ),
            (
                TransactionGenerator::Insights,
                "--scaleStats",
                "--scaleStats cannot be had: sessions",
            ),
            (
                TransactionGenerator::Ledger,
                "--historical-balance",
                "AS OF SYSTEM TIME",
            ),
            (
                TransactionGenerator::Ledger,
                "--inline-args",
                "--method=simple",
            ),
            (
                TransactionGenerator::Ledger,
                "--interleaved",
                "interleaved tables",
            ),
            (
                TransactionGenerator::Ledger,
                "--parallel-stmts",
                "RETURNING NOTHING",
            ),
            (
                TransactionGenerator::Ledger,
                "--splits=4",
                "--splits cannot be had",
            ),
            (
                TransactionGenerator::Ledger,
                "--mix=refund=1",
                "no such transaction refund",
            ),
            (
                TransactionGenerator::Movr,
                "--multi-region",
                "tables of several regions",
            ),
            (
                TransactionGenerator::Movr,
                "--num-ranges=3",
                "--num-ranges cannot be had",
            ),
            (
                TransactionGenerator::Movr,
                "--survive=region",
                "--survive cannot be had",
            ),
        ] {
            let said = of(generator, Verb::Run, line).unwrap_err();
            assert!(said.contains(why), "{line}: {said}");
        }
    }
}
