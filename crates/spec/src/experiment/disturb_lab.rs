//! The experiment of `pgdyno lab disturb`: a disturbed trial, and by turns with it a control without
//! the disturbance.
//!
//! Not for: carrying it out (`run/experiment/conduct.rs`), what came of it (`report::disturb`).

use std::time::Duration;

use serde_json::Value;

use super::{Commented, Comments, Experiment, Kind, seconds};
use crate::TrialSpec;

/// What the file says at its top.
const HEADING: &str = "\
A disturbed trial, and by turns with it a control: the same trial without its commands.
The commands are in [disturb]; they run on the host of pgdyno: pgdyno sweep FILE --allow-shell";

/// What is to be found out.
#[derive(Debug, Clone)]
pub struct DisturbLab {
    /// [`Kind::Disturb`] or [`Kind::Failover`].
    pub kind: Kind,
    pub spec: TrialSpec,
    /// Trials with the disturbance, on each target.
    pub repeats: u32,
    /// Whether there are as many without it.
    pub controls: bool,
    /// URLs of targets that are compared; empty: the one of the spec.
    pub targets: Vec<String>,
}

impl DisturbLab {
    /// The experiment. Its commands have their secrets.
    pub fn experiment(&self) -> Commented {
        let spec = &self.spec;
        let mut experiment = Experiment::of_trial(format!("lab-{}", self.kind.word()), spec)
            .kind(self.kind)
            .repeats(self.repeats)
            .settle(Duration::ZERO);
        if !self.targets.is_empty() {
            experiment = experiment.axis("target", self.targets.clone());
        }
        if self.controls {
            experiment = experiment.axis("disturb.control", [false, true]);
        }
        Commented {
            experiment,
            comments: Comments::heading(match spec.target.pg_standby {
                None => HEADING.to_owned(),
                // Where the database is, no experiment says.
                Some(replication) => format!("{HEADING} --pg-standby {}", replication.name()),
            }),
        }
    }
}

/// The table of a trial's disturbance, with its secrets.
pub(super) fn disturbance(spec: &TrialSpec) -> Vec<(&'static str, Value)> {
    let it = &spec.disturb;
    let commands = [("during", &it.during), ("undo", &it.undo)];
    let commands = commands
        .into_iter()
        .filter_map(|(name, command)| Some((name, command.as_ref()?.secret().into())));
    let lines = it.at.iter().map(|timed| {
        let step = &timed.0;
        format!(
            "{} {}",
            crate::text::as_typed(step.at),
            step.command.secret()
        )
    });
    let lines: Vec<String> = lines.collect();
    let at = (!lines.is_empty()).then(|| ("at", Value::from(lines.join("\n"))));
    let times = [
        ("before", Some(it.before())),
        ("for", it.lasting),
        ("after", it.after),
        ("command_timeout", it.command_timeout),
        ("within", it.within),
    ];
    let times = times
        .into_iter()
        .filter_map(|(name, time)| Some((name, seconds(time?))));
    let yes = it.yes.then(|| ("yes", true.into()));
    let one_by_one = it.one_by_one.then(|| ("one_by_one", true.into()));
    let flags = yes.into_iter().chain(one_by_one);
    commands.chain(at).chain(times).chain(flags).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::point::Point;
    use crate::{DisturbSpec, TargetSpec};

    #[test]
    fn each_point_is_the_disturbed_trial_or_its_control() {
        let spec = TrialSpec {
            clients: Some(4.into()),
            threads: Some(2),
            rate: Some(200.0.into()),
            params: vec!["scale=2".to_owned()],
            disturb: DisturbSpec {
                during: Some("PGPASSWORD=s3cret kill".into()),
                at: vec!["70s a".parse().unwrap(), "80s b".parse().unwrap()],
                before: Some(Duration::from_secs(60)),
                within: Some(Duration::from_millis(20)),
                undo: Some("back".into()),
                one_by_one: true,
                ..DisturbSpec::default()
            },
            ..TrialSpec::of("tpcb")
        };
        let lab = DisturbLab {
            kind: Kind::Disturb,
            spec: spec.clone(),
            repeats: 6,
            controls: true,
            targets: Vec::new(),
        };
        let made = lab.experiment();
        let experiment = made.experiment;
        assert_eq!(experiment.axes.len(), 1);
        for control in [false, true] {
            let mut values = experiment.fixed.clone();
            values.insert("disturb.control".to_owned(), control.into());
            let point = Point::new(values);
            let made = point
                .spec(TargetSpec::default(), spec.rate.clone(), 7)
                .unwrap();
            let disturb = DisturbSpec {
                control,
                ..spec.disturb.clone()
            };
            assert_eq!(made.disturb, disturb);
            assert_eq!(made.duration, Some(Duration::from_secs(100)));
            assert_eq!((made.clients(), made.threads()), (4, 2));
            made.check().unwrap();
            // Its record has no secret.
            assert!(!point.key().contains("s3cret"), "{}", point.key());
        }
        assert!(!format!("{:?}", experiment.without_secrets()).contains("s3cret"));
    }
}
