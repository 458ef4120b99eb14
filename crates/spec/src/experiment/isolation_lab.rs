//! The experiment of `pgdyno lab isolation`: each mix of its pack at each isolation level, by turns.
//!
//! Not for: carrying it out (`run/experiment/conduct.rs`), what came of it (`report::isolation`).

use super::{Commented, Comments, Experiment, Kind};
use crate::{Isolation, TrialSpec};

/// What the experiment is called.
pub const NAME: &str = "lab-isolation";

/// Mixes of its pack that are run when they are named: each shows one anomaly more often than others, half a
/// transfer, lost increments, two orders of two writes.
pub const MIXES_OF_ONE: [&str; 3] = ["bank", "counter", "long-fork"];

/// What the file says at its top.
const HEADING: &str = "\
Histories of transactions at each isolation level, which are checked after each trial: which anomalies
occurred, and does the level forbid them? pgdyno help isolation";

/// The pack that records histories.
pub const PACK: &str = "isolation";
/// The mixes that are run when none is named: what can be seen of lists, of registers, and of rows by predicates.
pub const MIXES: [&str; 3] = ["append", "register", "predicate"];
/// The mix that is run where endpoints have a role and none is named: sessions that write, and then read there.
pub const SESSION: &str = "session";

/// The levels that are run when none is named. Read uncommitted is read committed or more wherever pgdyno
/// knows the product; servers without one of these run another in its place, which is shown.
pub const LEVELS: [Isolation; 3] = [
    Isolation::ReadCommitted,
    Isolation::RepeatableRead,
    Isolation::Serializable,
];
/// The same where reads go to other endpoints: a hot standby refuses serializable transactions.
pub const LEVELS_OF_STANDBYS: [Isolation; 2] =
    [Isolation::ReadCommitted, Isolation::RepeatableRead];

/// What is to be found out.
#[derive(Debug, Clone)]
pub struct IsolationLab {
    /// A trial of it, without its mix and its level.
    pub spec: TrialSpec,
    pub mixes: Vec<String>,
    pub levels: Vec<Isolation>,
    /// Trials of each mix at each level.
    pub repeats: u32,
}

impl IsolationLab {
    /// The experiment. The commands of its disturbance have their secrets.
    pub fn experiment(&self) -> Commented {
        let spec = &self.spec;
        let mut experiment = Experiment::of_trial(NAME, spec)
            .kind(Kind::Isolation)
            .repeats(self.repeats)
            .settle(std::time::Duration::ZERO);
        // Its axes.
        for name in ["isolation", "mix"] {
            experiment.fixed.remove(name);
        }
        experiment = experiment
            .fix("workload", vec![PACK])
            .axis("mix", self.mixes.clone())
            .axis("isolation", self.levels.iter().map(|level| level.name()));
        Commented {
            experiment,
            comments: Comments::heading(match spec.target.pg_standby {
                None => HEADING.to_owned(),
                // Where the database is, no experiment says.
                Some(replication) => format!(
                    "{HEADING}\nIts servers: pgdyno sweep FILE --pg-standby {}",
                    replication.name()
                ),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::TargetSpec;
    use crate::experiment::point::Point;

    #[test]
    fn each_mix_is_run_at_each_level() {
        let lab = IsolationLab {
            spec: TrialSpec {
                clients: Some(8.into()),
                duration: Some(Duration::from_secs(5)),
                params: vec!["keys=10".to_owned()],
                history: true,
                ..TrialSpec::default()
            },
            mixes: MIXES.map(str::to_owned).to_vec(),
            levels: LEVELS.to_vec(),
            repeats: 2,
        };
        let experiment = lab.experiment().experiment;
        let steps: Vec<usize> = experiment.axes.iter().map(|axis| axis.0.len()).collect();
        assert_eq!(steps, [MIXES.len(), LEVELS.len()]);
        let mut values = experiment.fixed.clone();
        for axis in &experiment.axes {
            values.extend(axis.0[0].clone());
        }
        let made = Point::new(values)
            .spec(TargetSpec::default(), None, 7)
            .unwrap();
        assert_eq!(made.workload, [PACK]);
        assert_eq!(made.mix.as_deref(), Some(MIXES[0]));
        assert!(made.history);
        assert_eq!(made.isolation, Some(LEVELS[0]));
        assert_eq!(made.duration, Some(Duration::from_secs(5)));
        assert_eq!(
            (made.clients(), made.params.clone()),
            (8, vec!["keys=10".to_owned()])
        );
        made.check().unwrap();
    }

    #[test]
    fn where_reads_go_the_rate_and_what_disturbs_are_in_each_trial() {
        let spec = TrialSpec {
            clients: Some(4.into()),
            rate: Some(200.0.into()),
            roles: crate::RolesSpec {
                endpoint_role: Some("reads=standby".parse().unwrap()),
                ..Default::default()
            },
            disturb: crate::DisturbSpec {
                during: Some("pgdyno:promotion behind=1s".into()),
                before: Some(Duration::from_secs(1)),
                after: Some(Duration::from_secs(6)),
                ..Default::default()
            },
            history: true,
            ..TrialSpec::default()
        };
        let lab = IsolationLab {
            spec: spec.clone(),
            mixes: vec![SESSION.to_owned()],
            levels: LEVELS_OF_STANDBYS.to_vec(),
            repeats: 1,
        };
        let experiment = lab.experiment().experiment;
        let mut values = experiment.fixed.clone();
        for axis in &experiment.axes {
            values.extend(axis.0[0].clone());
        }
        let made = Point::new(values)
            .spec(TargetSpec::default(), spec.rate.clone(), 7)
            .unwrap();
        assert_eq!((&made.roles, &made.disturb), (&spec.roles, &spec.disturb));
        assert_eq!(made.rate, spec.rate);
        assert_eq!(made.duration, Some(Duration::from_secs(7)));
        made.check().unwrap();
    }
}
