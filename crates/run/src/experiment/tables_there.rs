//! A preset on a server that has its tables already: it runs on them, as they are.

use pgdyno_database::open;
use pgdyno_spec::{Experiment, Failure, TargetSpec};
use pgdyno_workload::{loader, resolve};

/// What the tables of every preset are made with, and the pack that has them.
const SCALE: &str = "params.scale";
const PACK: &str = "tpcb";

/// Takes the scale of the tables that the target has in place of the preset's, and says so. Nothing changes where no
/// server is named, where there are no tables, and where the scale is what the preset varies.
///
/// # Errors
/// The server cannot be reached or asked.
pub fn taken(experiment: &mut Experiment, wanted: &TargetSpec) -> Result<Option<String>, Failure> {
    let Some(asked) = experiment.fixed.get(SCALE).cloned() else {
        return Ok(None);
    };
    let Some(target) = open::existing(wanted)? else {
        return Ok(None);
    };
    let pack = resolve::pack(PACK).map_err(|e| Failure::new(e.to_string()))?;
    let mut session = target.connect()?;
    let there = loader::of_tables(&mut session, &pack)?;
    session.close();
    let Some(scale) = there.get("scale").and_then(|it| it.parse::<u64>().ok()) else {
        return Ok(None);
    };
    if asked == scale {
        return Ok(None);
    }
    experiment.fixed.insert(SCALE.to_owned(), scale.into());
    Ok(Some(format!(
        "the tables that are there are used, with scale = {scale}; without them the preset would load scale = {asked} \
         (pgdyno load {PACK} --param scale={asked} --replace)"
    )))
}
