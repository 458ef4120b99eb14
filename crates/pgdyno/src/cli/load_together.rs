//! `pgdyno load --generators`: this process is one of several that load tables together.

use pgdyno_database::open::Target;
use pgdyno_model::Progress;
use pgdyno_output::Verbosity;
use pgdyno_run::generators::{Company, Filling, Watch};
use pgdyno_spec::{Exit, Failure, TrialSpec, generators::load_sha256};
use pgdyno_workload::loader::{self, Loaded, Request};

use super::generators::introduce;
use super::load::{LoadArgs, on};

/// Loads with the others. What is reported is what one of them has loaded; the others find it loaded.
///
/// # Errors
/// It cannot join; the tables cannot be loaded.
pub fn load(
    args: &LoadArgs,
    request: &Request<'_>,
    target: &Target,
    verbosity: Verbosity,
) -> Result<Loaded, Failure> {
    let interrupts = pgdyno_run::interrupts()?;
    let spec = TrialSpec {
        mix: args.mix.clone(),
        params: args.workload.param.clone(),
        ..TrialSpec::of(&args.pack)
    };
    let (replace, drop, pack) = (args.replace, &args.drop_tables, request.pack.content_hash());
    // No trial of this workload.
    let content = format!("load {replace} {drop:?} {pack}");
    let sha256 = load_sha256(&spec, &content);
    let spec = serde_json::to_string(&spec).unwrap_or_default();
    let store = args.store.open()?;
    store.check_writable()?;
    let (options, room) = (&args.generators, Box::new(store));
    let mut company = Company::meet(sha256, spec, options, room, interrupts)?;
    introduce(&company, verbosity);
    let _watch = Watch::start(&company, options.leave)?;
    let mut loaded = None;
    let loads = |others: &Filling<'_>| {
        loaded = Some(on(target, verbosity, Some(others), |session, watch| {
            loader::load(session, request, watch)
        })?);
        Ok(())
    };
    let helps = |others: &Filling<'_>| {
        let helped = on(target, verbosity, Some(others), |session, watch| {
            loader::help(session, request, watch)
        });
        // The others do what is missing; an interrupt is seen by the wait.
        if let Err(why) = helped
            && !matches!(why.exit, Exit::Interrupted(_))
        {
            let text = format!("does not load tables with the others: {why}");
            verbosity.progress().warning(&text);
        }
    };
    let all = company.prepare_once(loads, helps);
    all.inspect_err(|failure| company.leave(failure, options.leave))?;
    match loaded {
        Some(loaded) => Ok(loaded),
        None => on(target, verbosity, None, |session, watch| {
            let request = Request::keeping(request.pack, request.params);
            loader::load(session, &request, watch)
        }),
    }
}
