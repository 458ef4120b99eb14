//! Whether a product can do what a trial's retry policy asks of it.

use pgdyno_spec::{Exit, Failure, Retry, TrialSpec};

use pgdyno_database::dialect::Product;

/// Whether the product can do what a trial asks of it.
///
/// # Errors
/// It cannot, and why.
pub fn check(asked: &TrialSpec, product: &Product) -> Result<(), Failure> {
    let retries = &product.dialect.retries;
    let refused = |what: &str, why: &str| Failure::with(Exit::Usage, format!("{what}: {why}"));
    if let (Retry::Savepoint, Err(why)) = (asked.retry.retry(), retries.savepoint) {
        return Err(refused("--retry savepoint", why)
            .hint("use --retry restart, which works on every product"));
    }
    if asked.retry.inject_retries {
        let inject = retries.inject.as_ref();
        let inject = inject.map_err(|why| refused("--inject-retries", why))?;
        if !product.is_since(inject.since) {
            let (since, version) = (inject.since, product.version);
            let title = product.dialect.title;
            let why = format!("{title} can fail on purpose from {since} on, and this is {version}");
            return Err(refused("--inject-retries", &why));
        }
    }
    Ok(())
}
