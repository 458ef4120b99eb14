//! Blocks that were not in the block cache of a node's storage engine.

use pgdyno_model::document::Part;
use pgdyno_spec::text;

use super::{of_budget, of_nodes};
use crate::evidence::Evidence;
use crate::ratio::ratio;
use crate::rule::{Assessment, Examined};

pub fn examine(evidence: &Evidence<'_>) -> Examined {
    let mean = |of_product: [&str; 2]| of_product.into_iter().find_map(|name| evidence.mean(name));
    let missed = mean(["crdb.cache.misses", "yb.cache.misses"]);
    let hits = mean(["crdb.cache.hits", "yb.cache.hits"]);
    let Some((missed, hits)) = missed.zip(hits) else {
        return Examined::NotKnown("misses of the block cache were not seen twice".to_owned());
    };
    let figure = format!(
        "{} of the blocks were not in the block cache",
        text::roughly(ratio(missed, missed + hits))
    );
    let Some(reading) = evidence.mean("crdb.blocks.reading") else {
        return match missed {
            0.0 => Examined::nothing(evidence, figure),
            _ => Examined::NotKnown(format!("{figure}; how long that takes is not known")),
        };
    };
    Examined::assessed(Assessment {
        shares: evidence.shares(&[Part::DataReads]),
        figure: Some(format!(
            "{figure}; {} requests waited for files",
            text::some(reading)
        )),
        sentence: "Block cache misses limited it: requests waited for blocks from files".to_owned(),
        proofs: vec![
            of_budget(
                text::roughly(evidence.budget.share(Part::DataReads)),
                "of the clients’ time requests waited for blocks from files",
            ),
            of_nodes(text::per_second(missed), figure),
        ],
        remedies: vec!["a larger block cache (`--cache`), more nodes, or faster disks".to_owned()],
        ..Assessment::default()
    })
}
