//! Where a trial is observed: at its target, or behind a pooler at the server itself (`--observe-url`).

use pgdyno_database::admin;
use pgdyno_database::dialect::Product;
use pgdyno_database::open::{self, Target};
use pgdyno_model::Progress;
use pgdyno_model::pooler::UNSEEN;
use pgdyno_session::Session;
use pgdyno_spec::{Exit, Failure, TargetSpec, TrialSpec, Wish};

/// The server that is observed in place of the target, where one is named.
///
/// # Errors
/// It cannot be reached, or is not the server that `session`, of the target, leads to.
pub fn target(
    asked: &TrialSpec,
    session: &mut Session,
    product: &Product,
    progress: &mut dyn Progress,
) -> Result<Option<Target>, Failure> {
    let Some(url) = &asked.observe.observe_url else {
        if asked.observe.instruments != Wish::None && product.known && session.is_pooled() {
            progress.warning(UNSEEN);
        }
        return Ok(None);
    };
    let wanted = TargetSpec {
        urls: vec![url.clone()],
        ..TargetSpec::default()
    };
    let Some(target) = open::existing(&wanted)? else {
        return Ok(None);
    };
    let mut direct = target.connect()?;
    let there = identity(&mut direct, product);
    let here = identity(session, product);
    match (here, there) {
        (Some(here), Some(there)) if here != there => {
            let failure = Failure::with(
                Exit::Usage,
                "--observe-url leads to another server or database than the target",
            );
            return Err(
                failure.hint("use the URL of the server behind the pooler, with the same database")
            );
        }
        (Some(_), Some(_)) => {}
        _ => progress.warning(
            "--observe-url: not known whether it is the target's server: no identity to compare",
        ),
    }
    direct.close();
    Ok(Some(target))
}

/// What tells its server and database from all others.
fn identity(session: &mut Session, product: &Product) -> Option<(String, String)> {
    let server = admin::value(session, product.dialect.cluster.identity).ok()??;
    let database = admin::value(session, "SELECT current_database()").ok()??;
    Some((server, database))
}
