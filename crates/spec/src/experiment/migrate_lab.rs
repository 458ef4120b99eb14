//! The experiment of `pgdyno lab migrate`: a migration in its forms, each in the middle of a load, and by turns
//! with them a control without it.
//!
//! Not for: running the migration (`run/disturb/migrate`), what came of it (`report::disturb`).

use std::time::Duration;

use serde_json::Value;

use super::{Commented, Comments, Experiment, Kind, POINT_NAME};
use crate::OWN;
use crate::TrialSpec;

/// What the command is called in a trial: `pgdyno:migrate file=… form=…`.
pub const NAME: &str = "migrate";
/// A form that is run as the file has it; with `lock_timeout` and again until it gets through; with the online
/// forms of its statements, and `lock_timeout`, too.
pub const FORMS: [&str; 3] = ["as-written", "lock-timeout", "online"];
/// What the point without the migration is called.
pub const CONTROL: &str = "control";

/// What the file says at its top.
const HEADING: &str = "\
A migration in the middle of a load, in several forms, and by turns with them a control without it.";

/// What is to be found out.
#[derive(Debug, Clone)]
pub struct MigrateLab {
    /// The trial, without the migration.
    pub spec: TrialSpec,
    /// The migration's commands, one for each form.
    pub commands: Vec<String>,
    /// Trials of each form.
    pub repeats: u32,
    /// Whether there are as many without it.
    pub controls: bool,
}

impl MigrateLab {
    pub fn experiment(&self) -> Commented {
        let mut spec = self.spec.clone();
        // Whatever is fixed of it; each point has its own.
        spec.disturb.during = self.commands.first().map(|command| command.as_str().into());
        let mut experiment = Experiment::of_trial(format!("lab-{NAME}"), &spec)
            .kind(Kind::Migrate)
            .repeats(self.repeats)
            .settle(Duration::ZERO);
        experiment.fixed.remove("disturb.during");
        let point = |name: String, command: &String, is_control: bool| {
            vec![
                (POINT_NAME.to_owned(), Value::from(name)),
                ("disturb.during".to_owned(), command.as_str().into()),
                ("disturb.control".to_owned(), is_control.into()),
            ]
        };
        let control = self.commands.first().filter(|_| self.controls);
        let control = control.map(|command| point(CONTROL.to_owned(), command, true));
        let forms = self.commands.iter().map(|command| {
            let name = form_of(command).unwrap_or_else(|| command.clone());
            point(name, command, false)
        });
        Commented {
            experiment: experiment.points(control.into_iter().chain(forms)),
            comments: Comments::heading(HEADING.to_owned()),
        }
    }
}

/// A path as the option of the command has it: a word.
pub fn encoded(path: &std::path::Path) -> String {
    let text = path.display().to_string();
    text.replace('%', "%25").replace(' ', "%20")
}

/// The path that [`encoded`] gave this word for.
pub fn decoded(word: &str) -> String {
    word.replace("%20", " ").replace("%25", "%")
}

/// The value of an option of a migration's command; `None`: it is another command, or has none.
pub fn option_of<'a>(command: &'a str, key: &str) -> Option<&'a str> {
    let options = command.trim().strip_prefix(OWN)?.strip_prefix(NAME)?;
    let words = options
        .split_whitespace()
        .filter_map(|word| word.split_once('='));
    words
        .filter(|(name, _)| *name == key)
        .map(|(_, value)| value)
        .next_back()
}

/// The file of a migration's command; `None`: it is another command.
pub fn file_of(command: &str) -> Option<String> {
    option_of(command, "file").map(decoded)
}

/// What people call the form of a migration's command: `as written`; `None`: it is another command.
pub fn form_of(command: &str) -> Option<String> {
    file_of(command)?;
    let timeout = option_of(command, "timeout").map_or_else(String::new, |time| format!(" {time}"));
    let mut words = match option_of(command, "form") {
        None | Some("as-written") => "as written".to_owned(),
        Some("lock-timeout") => format!("lock_timeout{timeout} and retries"),
        Some(other) if timeout.is_empty() => format!("{other} form"),
        Some(other) => format!("{other} form, lock_timeout{timeout}"),
    };
    if let Some(time) = option_of(command, "reader") {
        words.push_str(&format!(", behind a reader of {time}"));
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::point::Point;
    use crate::{DisturbSpec, TargetSpec};

    #[test]
    fn each_form_is_a_point_and_the_control_is_one_too() {
        let spec = TrialSpec {
            rate: Some(200.0.into()),
            disturb: DisturbSpec {
                before: Some(Duration::from_secs(3)),
                after: Some(Duration::from_secs(7)),
                ..DisturbSpec::default()
            },
            ..TrialSpec::of("tpcb")
        };
        let commands = [
            "pgdyno:migrate file=a.sql",
            "pgdyno:migrate file=a.sql form=online reader=30s",
        ];
        let lab = MigrateLab {
            spec,
            commands: commands.map(str::to_owned).to_vec(),
            repeats: 2,
            controls: true,
        };
        let experiment = lab.experiment().experiment;
        assert_eq!((experiment.axes.len(), experiment.kind), (1, Kind::Migrate));
        let mut seen = Vec::new();
        for step in &experiment.axes[0].0 {
            let mut values = experiment.fixed.clone();
            values.extend(step.iter().cloned());
            let point = Point::new(values);
            let made = point.spec(TargetSpec::default(), None, 7).unwrap();
            made.check().unwrap();
            assert_eq!(made.duration, Some(Duration::from_secs(10)));
            seen.push((made.disturb.control, made.disturb.during.unwrap().public()));
            // They share the trial that measures the maximum.
            assert_eq!(point.at_maximum().to_json()["name"], Value::Null);
        }
        let [written, online] = commands.map(str::to_owned);
        assert_eq!(
            seen,
            [(true, written.clone()), (false, written), (false, online)]
        );
    }

    #[test]
    fn a_form_has_a_name_for_people() {
        let name = |options: &str| form_of(&format!("pgdyno:migrate file=a {options}"));
        assert_eq!(name("").as_deref(), Some("as written"));
        assert_eq!(
            name("form=lock-timeout").as_deref(),
            Some("lock_timeout and retries")
        );
        assert_eq!(
            name("form=lock-timeout timeout=50ms").as_deref(),
            Some("lock_timeout 50ms and retries")
        );
        assert_eq!(
            name("form=online timeout=1s reader=30s").as_deref(),
            Some("online form, lock_timeout 1s, behind a reader of 30s")
        );
        assert_eq!(form_of("pgdyno:checkpoint"), None);
    }

    #[test]
    fn a_path_is_one_word_of_the_command() {
        for path in ["/a b/100%/x.sql", "/plain.sql", "/%20.sql"] {
            let word = encoded(std::path::Path::new(path));
            assert!(!word.contains(' '), "{word}");
            assert_eq!(
                file_of(&format!("pgdyno:migrate file={word} form=online")).as_deref(),
                Some(path)
            );
        }
    }
}
