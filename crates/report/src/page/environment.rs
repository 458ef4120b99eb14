//! What a trial was measured on: settings of the server, and lines of facts.

use pgdyno_model::Fact;
use pgdyno_model::document::page::Setting;
use pgdyno_model::document::{Facts, Observed, Run};
use pgdyno_spec::text as figures;

use super::observed;
use pgdyno_model::notebook::TrialRow;

/// Settings that are not as the server's program has them, or why they are not known.
pub fn settings(facts: &Facts) -> (Option<Vec<Setting>>, Option<String>) {
    match &facts.changed_settings {
        Fact::Known(settings) => {
            let settings = settings.iter();
            let settings = settings.map(|(name, value)| Setting {
                name: name.clone(),
                value: value.clone(),
                default: None,
                from: None,
                named_by_verdict: None,
            });
            (Some(settings.collect()), None)
        }
        Fact::Unknown(why) => (None, Some(why.clone())),
    }
}

/// In order: server, database, nodes, options of the trial, load generator, pgdyno, pack.
pub fn lines(run: &Run, seen: &Observed, trial: &TrialRow) -> Vec<(&'static str, String)> {
    let facts = &run.target.facts;
    let host = &run.host;
    let mut lines = Vec::new();
    if let Some(version) = facts.version.known() {
        lines.push(("Server", version.clone()));
    }
    lines.push((
        "Target",
        format!(
            "{} ({})",
            run.target.title,
            figures::plural(run.endpoints.len() as u64, "endpoint")
        ),
    ));
    if let Some(bytes) = facts.database_size_bytes.known() {
        lines.push(("Database", figures::bytes(*bytes as f64)));
    }
    if let Some(bytes) = facts.shared_buffers_bytes.known() {
        lines.push(("Shared buffers", figures::bytes(*bytes as f64)));
    }
    if let Some(nodes) = facts.nodes.known().filter(|nodes| nodes.len() > 1) {
        lines.push(("Nodes", nodes.len().to_string()));
    }
    let options = run.trial.chosen().into_iter();
    let options: Vec<String> = options
        .map(|(name, text)| format!("{name} {text}"))
        .collect();
    if !options.is_empty() {
        lines.push(("Options", options.join(", ")));
    }
    let mut generator: Vec<String> = host.name.iter().cloned().collect();
    generator.push(figures::plural(host.cpus as u64, "CPU"));
    generator.extend(host.cpu_model.clone());
    generator.extend(host.memory_bytes.map(|bytes| figures::bytes(bytes as f64)));
    generator.extend(host.kernel.as_ref().map(|kernel| format!("Linux {kernel}")));
    lines.push(("Load generator", generator.join(", ")));
    if let Some(role) = observed::role(seen) {
        lines.push(("This host was", role.to_owned()));
    }
    lines.push(("pgdyno", trial.pgdyno.clone()));
    if let Some(hash) = &trial.pack_sha256 {
        lines.push(("Pack", format!("{}, SHA-256 {hash}", trial.workload)));
    }
    lines
}
