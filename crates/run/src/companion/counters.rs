//! What the server itself counts of restarts and deadlocks, from before a trial to after it.

use pgdyno_database::counters::{self, Before};
use pgdyno_model::{Observer, Outcome};

use crate::companion::{Begun, Companion, Ending, Scene};

struct Counters<'a>(Before<'a>);

/// Reads them; what else is asked beforehand is asked on the same session.
pub fn begin<'a>(scene: &mut Scene<'a>) -> Begun<'a> {
    let Scene {
        prepared,
        beforehand,
        ..
    } = scene;
    let before = counters::before(
        &prepared.target,
        &prepared.facts.reached,
        prepared.product.dialect,
        |endpoint, session| beforehand.ask(endpoint, session, prepared),
    );
    Ok(Some(Box::new(Counters(before))))
}

impl Observer<Outcome> for Counters<'_> {}

impl Companion for Counters<'_> {
    fn ends_last(&self) -> bool {
        true
    }

    fn end(self: Box<Self>, end: &mut Ending<'_>) {
        let recording = &*end.recording;
        let all_went_well = recording.reasons.is_empty()
            && recording.warmup.is_none()
            && recording.clients.aborted == 0;
        let dialect = end.scene.prepared.product.dialect;
        end.findings.put(&self.0.after(dialect, all_went_well));
    }
}
