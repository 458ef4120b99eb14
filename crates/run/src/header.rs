//! What is kept of a trial before it begins.

use std::collections::BTreeMap;

use crate::ceiling::kept;
use pgdyno_database::open::Target;
use pgdyno_drive::Script;
use pgdyno_drive::operations;
use pgdyno_model::document::{Facts, Host, TargetKind};
use pgdyno_model::notebook::TrialHeader;
use pgdyno_spec::{TrialSpec, defaults};

use super::command_line;
use super::prepare::Prepared;

/// Of a trial that is alone.
pub fn header(spec: &TrialSpec, prepared: &Prepared) -> TrialHeader {
    let pack = prepared.workload.pack.as_ref();
    let spec = TrialSpec {
        query_mode: Some(prepared.query_mode()),
        ..spec.clone()
    };
    TrialHeader {
        experiment: None,
        point: None,
        repeat: None,
        position: None,
        tags: defaults::tags(),
        note: None,
        workload: prepared.workload.name.clone(),
        pack_sha256: pack.map(|pack| pack.content_hash()),
        variables: prepared.variables_kept(),
        target: prepared.target.title.clone(),
        target_kind: prepared.target.kind,
        facts: prepared.facts.clone(),
        host: kept::host(&spec),
        notes: prepared.notes(None, None, None, None),
        command: command_line::of_process(),
        spec,
        scripts: prepared.scripts.iter().map(Script::record).collect(),
        operations: operations(&prepared.scripts),
    }
}

/// Of a trial that came to nothing before it was prepared; the target, if it was found.
pub fn not_begun(spec: &TrialSpec, target: Option<&Target>) -> TrialHeader {
    TrialHeader {
        experiment: None,
        point: None,
        repeat: None,
        position: None,
        tags: defaults::tags(),
        note: None,
        workload: spec.workload.join(" "),
        pack_sha256: None,
        variables: BTreeMap::new(),
        target: target.map_or_else(String::new, |target| target.title.clone()),
        target_kind: target.map_or(TargetKind::Named, |target| target.kind),
        facts: Facts::unknown("the trial ended before it was read from the server"),
        host: Host::read(),
        notes: Vec::new(),
        command: command_line::of_process(),
        spec: TrialSpec {
            query_mode: Some(spec.query_mode()),
            ..spec.clone()
        },
        scripts: Vec::new(),
        operations: Vec::new(),
    }
}
