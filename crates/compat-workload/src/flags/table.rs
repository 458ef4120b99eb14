//! Which flags a workload's verb takes. The flags themselves are in lists of their own: those of every
//! workload (`common.rs`), and each workload's (`ycsb.rs`, `kv.rs`, `bank.rs`, `others.rs`).

use super::flag::{Flag, On, Verb};
use super::{bank, common, kv, others, tpcc, ycsb};
use crate::generator::TransactionGenerator;

/// Those that a workload's verb takes, by name. Where a workload has a flag of its own by a name
/// that all have, its own counts.
pub fn all(generator: TransactionGenerator, verb: Verb) -> Vec<&'static Flag> {
    let own = match generator {
        TransactionGenerator::Ycsb => ycsb::FLAGS,
        TransactionGenerator::Kv => kv::FLAGS,
        TransactionGenerator::Bank => bank::FLAGS,
        TransactionGenerator::Tpcc => tpcc::FLAGS,
        other => others::own(other),
    };
    let mut flags: Vec<&Flag> = common::FLAGS
        .iter()
        .filter(|flag| own.iter().all(|its| its.name != flag.name))
        .chain(own)
        .filter(|flag| match flag.on {
            On::All => true,
            On::Init | On::InitAndRun => verb != Verb::Check,
            On::Run => verb == Verb::Run,
        })
        .collect();
    flags.sort_by_key(|flag| flag.name);
    flags
}

#[cfg(test)]
mod tests {
    use super::super::flag::Kind;
    use super::*;

    fn lists() -> impl Iterator<Item = &'static [Flag]> {
        let own = [ycsb::FLAGS, kv::FLAGS, bank::FLAGS, tpcc::FLAGS];
        let others = TransactionGenerator::ALL.into_iter().map(others::own);
        own.into_iter().chain([common::FLAGS]).chain(others)
    }

    #[test]
    fn flags_stand_in_order_and_each_but_once() {
        for list in lists() {
            assert!(list.windows(2).all(|pair| pair[0].name < pair[1].name));
        }
    }

    #[test]
    fn defaults_are_values_of_their_kinds() {
        use super::super::go_values as go;
        let flags = lists().flatten();
        for flag in flags.filter(|flag| !flag.default.is_empty()) {
            let is_value = match flag.kind {
                Kind::Int => go::int(flag.default).is_ok(),
                Kind::Uint => go::uint(flag.default).is_ok(),
                Kind::Float => go::float(flag.default).is_ok(),
                Kind::Duration => go::duration(flag.default).is_ok(),
                Kind::Bool => flag.default.starts_with("true"),
                Kind::String | Kind::OptionalString => true,
            };
            assert!(is_value, "--{}", flag.name);
        }
    }

    /// The flags of `cockroach workload run … --help`: 19.1's, and those of later versions.
    #[test]
    fn no_flag_of_cockroachs_is_missing() {
        let common = "concurrency db drop duration histograms init max-ops max-rate method pprofport \
            ramp seed tolerate-errors logtostderr no-color vmodule count-errors display-every \
            display-format histogram-export-format openmetrics-labels isolation-level \
            prometheus-port warmup-conns conn-vars operation-receiver";
        for (generator, own) in [
            (
                TransactionGenerator::Ycsb,
                "families initial-rows json request-distribution splits workload delete-freq \
                 insert-count insert-freq insert-hash insert-start max-scan-length min-scan-length \
                 read-freq read-modify-write-freq read-modify-write-in-txn record-count scan-freq \
                 scan-length-distribution select-for-update update-freq zero-padding",
            ),
            (
                TransactionGenerator::Kv,
                "batch cycle-length max-block-bytes min-block-bytes read-percent secondary-index \
                 sequential span-percent splits use-opt write-seq zipfian del-percent enum \
                 follower-read-percent insert-count key-size num-shards prepare-read-only scatter \
                 sfu-wait-delay sfu-writes span-limit target-compression-ratio timeout txn-qos \
                 zipfian-s zipfian-v",
            ),
            (
                TransactionGenerator::Bank,
                "rows payload-bytes ranges batch-size tables",
            ),
            (
                TransactionGenerator::Tpcc,
                "warehouses mix wait workers active-warehouses fks partitions partition-affinity \
                 split scatter serializable interleaved zones expensive-checks conns idle-conns \
                 client-partitions partition-strategy regions survival-goal families \
                 deprecated-fk-indexes replicate-static-columns local-warehouses",
            ),
            (
                TransactionGenerator::Movr,
                "num-users num-vehicles num-rides num-histories num-promo-codes num-ranges \
                 multi-region infer-crdb-region-column survive",
            ),
            (
                TransactionGenerator::Ledger,
                "customers inline-args splits fks historical-balance mix interleaved parallel-stmts",
            ),
            (TransactionGenerator::Queue, "batch"),
            (
                TransactionGenerator::Indexes,
                "secondary-indexes unique-indexes payload cycle-length",
            ),
            (TransactionGenerator::Conflict, "conflicts table"),
            (
                TransactionGenerator::Insights,
                "rows batch-size payload-bytes ranges table-count scaleStats",
            ),
            (TransactionGenerator::Connectionlatency, "locality"),
            (
                TransactionGenerator::Querybench,
                "query-file num-runs use-opt optimizer vectorize verbose",
            ),
        ] {
            let flags = all(generator, Verb::Run);
            let has = |name: &str| flags.iter().any(|flag| flag.name == name);
            for name in common.split_whitespace().chain(own.split_whitespace()) {
                assert!(has(name), "{generator:?} {name}");
            }
        }
        let has = |verb, name| {
            all(TransactionGenerator::Ycsb, verb)
                .iter()
                .any(|f| f.name == name)
        };
        assert!(has(Verb::Init, "drop") && !has(Verb::Check, "drop"));
        assert!(has(Verb::Check, "insert-count"));
    }
}
