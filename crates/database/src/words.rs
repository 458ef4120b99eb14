//! What pgdyno does otherwise on a product than on PostgreSQL, in sentences made from its dialect.

use pgdyno_spec::text;

use super::dialect::{AtStart, Filling, POSTGRESQL, Product};

/// A sentence for each difference; none on PostgreSQL.
pub fn differences(product: &Product) -> Vec<String> {
    let (dialect, plain) = (product.dialect, &POSTGRESQL);
    let mut sentences: Vec<String> = Vec::new();
    if product.is_other() {
        // Nothing more is known of it.
        return product.warning().into_iter().collect();
    }
    if !product.known {
        sentences.push(
            "pgdyno has no dialect for this product and speaks PostgreSQL's: what it does not \
             understand will be an error"
                .to_owned(),
        );
    }
    if let Some(why) = product.untried() {
        sentences.push(format!("{why} (pgdyno target --facts)"));
    }
    let tables = &dialect.tables;
    match tables.filling {
        Filling::Whole => {}
        Filling::Batches { rows } => sentences.push(format!(
            "tables are filled {} rows at a time, each batch in a separate transaction",
            text::count(rows)
        )),
        Filling::Committing { rows } => sentences.push(format!(
            "tables are filled by one COPY that commits after every {} rows",
            text::count(rows)
        )),
    }
    for setting in tables.load_settings {
        if product.is_since(setting.since) {
            let (name, value, why) = (setting.name, setting.value, setting.why);
            sentences.push(format!("while tables are filled, {name} = {value}: {why}"));
        }
    }
    if let Some(setting) = product.splits_need() {
        let (name, value, why) = (setting.name, setting.value, setting.why);
        sentences.push(format!(
            "before tables are split, {name} = {value} is set for the whole server, and stays: {why}"
        ));
    }
    if tables.keys_in_create {
        sentences.push(match tables.key_order.trim() {
            "" => "primary keys are declared in CREATE TABLE".to_owned(),
            order => {
                format!("primary keys are declared in CREATE TABLE, with their order: {order}")
            }
        });
    }
    if !tables.has_fillfactor {
        sentences.push("tables have no fill factor: the parameter is ignored".to_owned());
    }
    let refused = [
        ("partitions", tables.no_partitions),
        ("tablespaces", tables.no_tablespaces),
        ("unlogged tables", tables.no_unlogged),
    ];
    for (what, why) in refused {
        sentences.extend(why.map(|why| format!("{what} are refused: {why}")));
    }
    if tables.integer_division != plain.tables.integer_division {
        let operator = tables.integer_division;
        sentences.push(format!(
            "integers are divided with {operator}; / gives decimals, in scripts of your own too"
        ));
    }
    if dialect.vacuum.is_none() {
        sentences.push("tables are not vacuumed after a load or between trials".to_owned());
    }
    if dialect.checkpoint.is_none() {
        sentences.push("no checkpoint between trials".to_owned());
    }
    if dialect.try_lock.is_none() {
        sentences.push("two loads of the same tables are not kept apart by a lock".to_owned());
    }
    if dialect.settings_at_start == AtStart::Parameters {
        sentences.push("settings of sessions are start-up parameters, not options=-c".to_owned());
    }
    if dialect.retries.savepoint.is_ok() {
        sentences.push("transactions can restart from a savepoint: --retry savepoint".to_owned());
    }
    if let Ok(inject) = &dialect.retries.inject {
        sentences.push(if product.is_since(inject.since) {
            "the server can inject transaction failures: --inject-retries".to_owned()
        } else {
            format!(
                "the server cannot inject transaction failures: that needs {} {}",
                dialect.title, inject.since
            )
        });
    }
    if let Ok(reads) = &dialect.cluster.follower_reads
        && product.is_since(reads.since)
    {
        let staleness = reads.staleness;
        sentences.push(format!(
            "sessions can read from the nearest replica: --follower-reads; stale by {staleness}"
        ));
    }
    sentences.extend(dialect.cluster.differs.iter().map(|&text| text.to_owned()));
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_other_than_postgresql_are_named() {
        let of = |text: &str| differences(&Product::recognise(text));
        assert_eq!(of("PostgreSQL 18.1 on x86_64"), Vec::<String>::new());
        let unknown = of("Greenmask 3");
        assert!(unknown.len() == 1 && unknown[0].contains("no dialect"));
        let old = of("CockroachDB CCL v19.1.0 (x86_64)").join("\n");
        for word in [
            "tables are not vacuumed",
            "10,000 rows at a time",
            "kv.range_merge.queue_enabled = false is set for the whole server",
            "divided with",
            "--retry savepoint",
            "cannot inject transaction failures: that needs CockroachDB 22.1",
        ] {
            assert!(old.contains(word), "{word}: {old}");
        }
        assert!(!old.contains("until 19.1"), "{old}");
        let next = of("PostgreSQL 19.0 on x86_64");
        assert!(
            next.len() == 1 && next[0].contains("until 18.0"),
            "{next:?}"
        );
        let new = of("CockroachDB CCL v22.2.0 (x86_64)").join("\n");
        assert!(!new.contains("range_merge"), "{new}");
        assert!(
            new.contains("until 19.1: what it knows of 22.2 is"),
            "{new}"
        );
        assert!(new.contains("--inject-retries"), "{new}");
        let yugabyte = of("PostgreSQL 15.12-YB-2025.2.2.2-b0 on x86_64").join("\n");
        assert!(yugabyte.contains("40P01"), "{yugabyte}");
        assert!(
            yugabyte.contains("no YugabyteDB has answered"),
            "{yugabyte}"
        );
    }
}
