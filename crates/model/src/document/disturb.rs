//! What disturbed a trial: its commands, when each ran and what came of it.

use serde::{Deserialize, Serialize};

use super::MigrationRun;
use super::phases::PhaseFigures;
use crate::Fact;

/// What the commands of a disturbed trial came to. Times are microseconds since clients began to work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Disturbed {
    /// Whether it is a control: none of the commands was run.
    pub control: bool,
    /// When the disturbance was to begin.
    pub due_us: u64,
    /// When it began: the start of its first command. Of a control when it would have; `null` when
    /// the trial had ended before.
    pub began_us: Option<u64>,
    /// When it was over: the end of its last command, or what `--for` says.
    pub ended_us: Option<u64>,
    /// The commands, in the order of their moments.
    pub commands: Vec<CommandRun>,
    /// What was run after the trial; `null` where nothing is to be undone.
    pub undo: Option<CommandRun>,
}

/// A command that was run, or was not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CommandRun {
    /// As it was typed, without secrets.
    pub command: String,
    /// When it was due; `null` of the undo.
    pub due_us: Option<u64>,
    /// When it was started; `null` when it was not.
    pub began_us: Option<u64>,
    pub ended_us: Option<u64>,
    pub end: CommandEnd,
    /// Its exit code, where it ended by itself.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Why it was not started.
    pub reason: Option<String>,
    /// What it wrote to standard output and standard error, without secrets: the first and the last
    /// few kilobytes.
    pub output: String,
    /// Bytes of the output that are left out.
    pub output_left_out: u64,
    /// What it did, of a migration (`pgdyno lab migrate`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub migration: Option<Box<MigrationRun>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum CommandEnd {
    /// By itself, or by a signal that pgdyno did not send.
    Exited,
    /// pgdyno ended it when the time of `--for` was over, as asked.
    Ended,
    /// It took longer than `--command-timeout`, and was ended.
    TimedOut,
    /// It still ran when the trial was over, and was ended.
    NeverEnded,
    /// It was not started: the trial was over before, or there was no shell.
    NotRun,
}

impl CommandRun {
    /// Whether it did what it was to do, as far as its exit code says.
    pub fn is_well(&self) -> bool {
        match self.end {
            CommandEnd::Exited => self.exit_code == Some(0),
            CommandEnd::Ended => true,
            CommandEnd::NeverEnded => self.gave_up(),
            CommandEnd::TimedOut | CommandEnd::NotRun => false,
        }
    }

    /// Whether it is a migration that tried for as long as it could, and left nothing half done: a result.
    fn gave_up(&self) -> bool {
        let is_undone = |run: &MigrationRun| !run.is_done;
        self.exit_code == Some(0) && self.migration.as_deref().is_some_and(is_undone)
    }

    /// What went wrong with it, in a sentence without a full stop; `None` if nothing did.
    pub fn trouble(&self) -> Option<String> {
        if self.is_well() {
            return None;
        }
        let took = || match (self.began_us, self.ended_us) {
            (Some(began), Some(ended)) => {
                pgdyno_spec::text::time(ended.saturating_sub(began) as f64).to_string()
            }
            _ => "some time".to_owned(),
        };
        let how = match (self.end, self.exit_code, self.signal) {
            (CommandEnd::TimedOut, ..) => format!("was ended after {}: --command-timeout", took()),
            (CommandEnd::NeverEnded, ..) => {
                "still ran when the trial was over, and was ended".to_owned()
            }
            (CommandEnd::NotRun, ..) => format!(
                "was not run: {}",
                self.reason.as_deref().unwrap_or("not known why")
            ),
            (_, Some(code), _) => format!("ended with exit code {code}"),
            (_, None, Some(signal)) => format!("was ended by signal {signal}"),
            (_, None, None) => "ended, not known how".to_owned(),
        };
        // What was put back afterwards is no reason, and what follows a server's error says less than the error.
        let beside = ["undone: ", "DETAIL:", "HINT:", "CONTEXT:"];
        let said = self.output.lines().rev();
        let words = said
            .filter(|line| !beside.iter().any(|word| line.starts_with(word)))
            .find(|line| !line.trim().is_empty());
        let words = words.map_or_else(String::new, |line| format!(" ({})", line.trim()));
        Some(format!("`{}` {how}{words}", self.command))
    }
}

impl Disturbed {
    /// When the undo had ended, where nothing else may have ended what the commands began: all of them began at one
    /// moment, and none was ended by `--for`. Whether it has lasted so long is for clients to tell.
    pub fn may_last_until_us(&self) -> Option<u64> {
        let begins = self.commands.first().map(|run| run.due_us);
        let is_ended_within = { self.commands.iter() }
            .any(|run| Some(run.due_us) != begins || run.end == CommandEnd::Ended);
        let undone = self.undo.as_ref().and_then(|undo| undo.ended_us);
        undone.filter(|_| !is_ended_within)
    }

    /// What went wrong with its commands, a sentence each: those of the disturbance, then the undo.
    pub fn troubles(&self) -> Vec<String> {
        let all = self.commands.iter().chain(&self.undo);
        all.filter_map(CommandRun::trouble).collect()
    }
}

/// A disturbed trial as it is shown: its commands, and what they did to clients.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DisturbedTrial {
    #[serde(flatten)]
    #[cfg_attr(test, ts(flatten))]
    pub disturbed: Disturbed,
    /// What went wrong with them, a sentence each.
    pub troubles: Vec<String>,
    /// What they did; `null` where the trial came to nothing.
    pub figures: Option<DisturbFigures>,
}

/// What a disturbance did to clients: definitions in docs/disturb.md. Transactions count where they
/// were to start; times count from the start of the first command, of a control from when it was due.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DisturbFigures {
    /// What a transaction may take from its scheduled start to count as served, in microseconds.
    pub limit_us: Fact<u64>,
    /// Whether that was given; else it is five times the p99 before the disturbance, rounded up.
    pub limit_given: bool,
    /// Transactions a second that were due before.
    pub offered_per_s: f64,
    /// The share of them that was served, 0 to 1.
    pub served_share_before: Option<f64>,
    pub phases: Vec<PhaseFigures>,
    /// Until the first error of a client; `null`: there was none.
    pub first_error_us: Option<u64>,
    /// Until the first commit after it, to 100 ms; `null`: there was none.
    pub first_success_us: Option<u64>,
    /// The longest time without a commit by any client, whenever it began, if it ended after the start.
    pub no_service_us: u64,
    /// The longest time in which one client got no commit; `null`: below 100 ms.
    pub worst_client_us: Option<u64>,
    /// Until 90 % of the usual share was served for five seconds; 0 when it never was less.
    pub back_us: Fact<u64>,
    /// Whether it was before the end; `null` where that cannot be known.
    pub is_back: Option<bool>,
    /// The same at 99 %, where the time before allows it.
    pub strictly_back_us: Fact<u64>,
    /// How long less than 90 % were served, together, to a second.
    pub below_us: Option<u64>,
    /// Transactions that were due from the start on.
    pub due: u64,
    /// Of these, those that were not served.
    pub missed: Option<u64>,
    /// Of these: failed, and were not tried again.
    pub failed: u64,
    /// Of these: those whose commit is unknown.
    pub unknown: u64,
    /// Of these: skipped, because they were too late already.
    pub skipped: u64,
    /// Of these: committed beyond the limit.
    pub late: Option<u64>,
    /// Of these: never started before the trial was over.
    pub never_started: u64,
    /// Whether goodput stays down when the disturbance is over, at the same load.
    pub metastable: Metastable,
    pub metastable_why: String,
    /// What was due and what was served, over time.
    pub course: DisturbCourse,
}

/// Whether goodput stays down when a disturbance is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum Metastable {
    Yes,
    No,
    CannotTell,
}

impl Metastable {
    pub fn words(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// What was due and what came of it, in bins from when clients began to work.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DisturbCourse {
    /// The length of a bin.
    pub bin_us: u64,
    /// Transactions that were to start in each.
    pub due: Vec<u64>,
    /// Of these, those that were served.
    pub served: Vec<u64>,
    /// Commits in each, whenever they were to start.
    pub commits: Vec<u64>,
    /// Tries that failed in each, and connections that were lost or refused.
    pub errors: Vec<u64>,
    /// The errors of the measured time by kind and endpoint, the most frequent first.
    pub errors_by: Vec<DisturbErrors>,
    /// Response times by second, of commits in it.
    pub response: Vec<DisturbSecond>,
    /// Commits by endpoint and second; empty where there is one endpoint only.
    pub endpoints: Vec<DisturbEndpoint>,
}

/// Errors of one kind at one endpoint, over time. An attempt to connect that finds no server counts at
/// each address that it tried.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DisturbErrors {
    /// The SQLSTATE; without one `connection-lost`, `connection-refused`, `wrong-server` (not what
    /// `target_session_attrs` asks for), or another word of `failed`.
    pub code: String,
    pub says: String,
    pub endpoint: String,
    pub count: u64,
    /// The seconds that have some: when each began, in microseconds since clients began to work, and
    /// how many.
    pub seconds: Vec<(u64, u64)>,
}

/// What was committed at an endpoint, over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DisturbEndpoint {
    pub endpoint: String,
    /// When the first second began, in microseconds since clients began to work.
    pub from_us: u64,
    /// Commits in each second; none after the last commit.
    pub committed: Vec<u64>,
}

/// Response times of a second's commits, in microseconds; `null` where fewer than ten lie beyond.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DisturbSecond {
    /// When it began, in microseconds since clients began to work.
    pub start_us: u64,
    pub p50_us: Option<u64>,
    pub p95_us: Option<u64>,
    pub p99_us: Option<u64>,
    pub max_us: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_wrong_with_a_command_is_said_in_its_own_last_words() {
        let well = CommandRun {
            command: "x".to_owned(),
            due_us: Some(1),
            began_us: Some(1_000_000),
            ended_us: Some(3_500_000),
            end: CommandEnd::Exited,
            exit_code: Some(0),
            signal: None,
            reason: None,
            output: "a\nno such pod\nHINT:  Look.\n\nundone: dropped an index\n".to_owned(),
            output_left_out: 0,
            migration: None,
        };
        assert_eq!(well.trouble(), None);
        let with = |end, exit_code, signal| CommandRun {
            end,
            exit_code,
            signal,
            ..well.clone()
        };
        assert_eq!(with(CommandEnd::Ended, None, Some(15)).trouble(), None);
        let migration = |exit_code, is_done| CommandRun {
            migration: Some(Box::new(MigrationRun {
                is_done,
                ..MigrationRun::default()
            })),
            ..with(CommandEnd::NeverEnded, Some(exit_code), None)
        };
        assert_eq!(migration(0, false).trouble(), None, "it gave up");
        assert!(migration(1, false).trouble().is_some(), "it failed");
        assert!(
            migration(0, true).trouble().is_some(),
            "nothing was measured after it"
        );
        for (run, want) in [
            (
                with(CommandEnd::Exited, Some(3), None),
                "`x` ended with exit code 3 (no such pod)",
            ),
            (
                with(CommandEnd::Exited, None, Some(9)),
                "`x` was ended by signal 9 (no such pod)",
            ),
            (
                with(CommandEnd::TimedOut, None, Some(15)),
                "`x` was ended after 2.50 s: --command-timeout (no such pod)",
            ),
            (
                with(CommandEnd::NeverEnded, None, Some(15)),
                "`x` still ran when the trial was over, and was ended (no such pod)",
            ),
            (
                CommandRun {
                    reason: Some("why".to_owned()),
                    output: String::new(),
                    ..with(CommandEnd::NotRun, None, None)
                },
                "`x` was not run: why",
            ),
        ] {
            assert_eq!(run.trouble().unwrap().replace('\u{a0}', " "), want);
            let disturbed = Disturbed {
                commands: vec![well.clone(), run.clone()],
                undo: Some(run),
                ..Disturbed::default()
            };
            assert_eq!(disturbed.troubles().len(), 2);
        }
    }
}
