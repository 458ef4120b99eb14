//! Whether a trial may read from followers: the product can, and no script writes.

use pgdyno_database::dialect::Product;
use pgdyno_spec::{Exit, Failure, TrialSpec};
use pgdyno_workload::mix::WeightedScript;
use pgdyno_workload::sql_words;

/// Checks it where a trial asks for it.
///
/// # Errors
/// It may not, and why.
pub fn check(
    asked: &TrialSpec,
    product: &Product,
    scripts: &[WeightedScript],
) -> Result<(), Failure> {
    if !asked.follower_reads {
        return Ok(());
    }
    let refused = |why: String| {
        let text = format!("--follower-reads: {why}");
        Err(Failure::with(Exit::Usage, text))
    };
    let reads = match &product.dialect.cluster.follower_reads {
        Err(why) => return refused((*why).to_owned()),
        Ok(reads) => reads,
    };
    if !product.is_since(reads.since) {
        let (title, since) = (product.dialect.title, reads.since);
        return refused(format!(
            "{title} has a setting for it from {since} on, and this is {}; before, scripts of your own \
             can say AS OF SYSTEM TIME",
            product.version
        ));
    }
    let writes = scripts
        .iter()
        .find(|script| sql_words::writes(&script.text));
    match writes {
        None => Ok(()),
        Some(script) => refused(format!(
            "{} writes, and only read-only transactions read from followers",
            script.name
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_reads_and_only_where_the_server_has_it() {
        let asked = TrialSpec {
            follower_reads: true,
            ..TrialSpec::default()
        };
        let script = |text: &str| WeightedScript::plain("mine", text.to_owned(), 1);
        let (reads, writes) = (script("SELECT 1;"), script("UPDATE t SET v = 1;"));
        let of = |version: &str, script: &WeightedScript| {
            let product = Product::recognise(version);
            check(&asked, &product, std::slice::from_ref(script)).map_err(|e| e.message)
        };
        let new = "CockroachDB CCL v25.2.0 (x86_64)";
        assert_eq!(of(new, &reads), Ok(()));
        for (version, script, why) in [
            (new, &writes, "mine writes"),
            ("CockroachDB CCL v19.1.0 (x86_64)", &reads, "from 22.1 on"),
            ("PostgreSQL 18.1", &reads, "give a standby with --url"),
        ] {
            let reported = of(version, script).unwrap_err();
            assert!(reported.contains(why), "{reported}");
        }
        let default = TrialSpec::default();
        let postgresql = Product::recognise("PostgreSQL 18.1");
        assert!(check(&default, &postgresql, &[writes]).is_ok());
    }
}
