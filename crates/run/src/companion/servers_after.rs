//! What became of the servers by the end of a trial: the nodes of a cluster, and endpoints that lead elsewhere.

use pgdyno_database::{cluster, reach};
use pgdyno_measurement::EventKind;

use crate::companion::Ending;
use crate::validity;

/// The cluster, where there is more than one node.
pub fn cluster(end: &mut Ending<'_>) {
    let prepared = end.scene.prepared;
    let dialect = prepared.product.dialect;
    if let Some(after) = cluster::after(&prepared.target, dialect, &prepared.facts) {
        end.findings.put(&after);
    }
}

/// Endpoints that lead to another server than before.
pub fn replaced(end: &mut Ending<'_>) {
    let prepared = end.scene.prepared;
    let dialect = prepared.product.dialect;
    for text in reach::replaced(&prepared.target, dialect, &prepared.facts.reached) {
        end.event(EventKind::ServerReplaced, text);
    }
    let is_disturbed = !end.scene.spec.disturb.is_empty();
    end.notes
        .extend(validity::server_replaced(end.recording, is_disturbed));
}
