//! The answers of experiments of a special kind: searches for a capacity and laboratories. Each is made by
//! its own module.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::{calibration, capacity, disturb, isolation, retries_lab, slob_sweep};
use pgdyno_model::document::answer::Answer;
use pgdyno_model::document::calibration::Calibration;
use pgdyno_model::document::capacity::Capacity;
use pgdyno_model::document::disturb_lab::DisturbLab;
use pgdyno_model::document::isolation_lab::IsolationLab;
use pgdyno_model::document::points::PointResult;
use pgdyno_model::document::retries_lab::RetriesLab;
use pgdyno_model::document::slob_sweep::SlobSweep;
use pgdyno_spec::text as figures;

/// The command that kills a primary and promotes its standby.
const FAILOVER: &str = "pgdyno:failover";

/// What an experiment is beside its points.
#[derive(Default, Clone, Copy)]
pub struct Special<'a> {
    /// How much load keeps the limit of p99.
    pub capacity: Option<&'a Capacity>,
    /// The codes of what limited its trials, by their numbers, where they are known.
    pub judged: Option<&'a BTreeMap<i64, String>>,
    /// Forms of one workload and their retries.
    pub retries_lab: Option<&'a RetriesLab>,
    pub disturb_lab: Option<&'a DisturbLab>,
    pub isolation_lab: Option<&'a IsolationLab>,
    /// A system beside what is expected of good infrastructure.
    pub calibration: Option<&'a Calibration>,
    /// Sizes of tables beside caches.
    pub slob: Option<&'a SlobSweep>,
}

impl Special<'_> {
    /// What its page is called, as people would say it: `tpcb in 6 forms, 8 clients`; `None`: as a sweep.
    pub fn title(&self, workload: &str) -> Option<String> {
        let plural = figures::plural;
        if let Some(lab) = self.isolation_lab {
            let levels = plural(lab.levels.len() as u64, "isolation level");
            let clients = lab.clients.map(|clients| plural(clients.into(), "client"));
            let clients = clients.map_or_else(String::new, |clients| format!(", {clients}"));
            return Some(format!("{levels} under load{clients}"));
        }
        if let Some(lab) = self.disturb_lab {
            let clients = lab.clients.map(|clients| plural(clients.into(), "client"));
            let parts = [lab.workload.clone(), clients, lab.offered.clone()];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            let is_failover = lab
                .commands
                .iter()
                .any(|command| command.contains(FAILOVER));
            let what = match (lab.lab.as_str(), is_failover) {
                ("migrate", _) => "a migration",
                (_, true) => "failover",
                (_, false) => "disturbed",
            };
            return Some(format!("{}: {what}", parts.join(", ")));
        }
        if let Some(lab) = self.retries_lab {
            let mut forms: Vec<&str> = { lab.points.iter().flat_map(|point| &point.forms) }
                .map(|form| form.form.as_str())
                .collect();
            forms.sort_unstable();
            forms.dedup();
            let mut clients: Vec<u64> = { lab.points.iter() }
                .map(|point| point.given["clients"].as_u64().unwrap_or(1))
                .collect();
            clients.sort_unstable();
            clients.dedup();
            let clients = match clients[..] {
                [only] => plural(only, "client"),
                _ => {
                    let clients: Vec<String> = clients.iter().map(u64::to_string).collect();
                    format!("{} clients", clients.join(" and "))
                }
            };
            let forms = plural(forms.len() as u64, "form");
            let workload = lab.workload.as_deref().unwrap_or(workload);
            return Some(format!("{workload} in {forms}, {clients}"));
        }
        if let Some(c) = self.calibration {
            return Some(format!("Calibration of {}", figures::shown(&c.target)));
        }
        if let Some(slob) = self.slob {
            return Some(format!("SLOB: logical reads by {}", slob.x.title));
        }
        let capacity = self.capacity.filter(|found| {
            let mut ladders = found.ladders.iter();
            ladders.any(|ladder| ladder.search.steps > 0)
        });
        let limit = |us: f64| figures::asked(Duration::from_secs_f64(us.max(0.0) / 1e6));
        capacity.map(|found| format!("{workload}: capacity with p99 ≤ {}", limit(found.slo_us)))
    }

    /// What it says, of these points; `None`: it has no answer of its own.
    pub fn answer(&self, points: &[PointResult]) -> Option<Answer> {
        let isolated = self.isolation_lab.map(isolation::answer);
        let disturbed = || self.disturb_lab.and_then(disturb::answer);
        let forms = || self.retries_lab.and_then(retries_lab::answer);
        let calibrated = || self.calibration.map(calibration::answer);
        let fits = || self.slob.and_then(slob_sweep::answer);
        let serves = || {
            let found = self.capacity?;
            let mut answer = capacity::answer(found, self.judged)?;
            super::serious(points, &mut answer);
            Some(answer)
        };
        isolated
            .or_else(disturbed)
            .or_else(forms)
            .or_else(calibrated)
            .or_else(fits)
            .or_else(serves)
    }
}
