//! Checks the history of a trial: what it shows as a part of the trial's document, the smallest example
//! of each anomaly with a history of its own that shows it again.
//!
//! Not for: recording histories, what a product promises (`database::dialect`), words (`report::isolation`).

mod promise;

use std::time::Instant;

use pgdyno_isolation::{
    Anomaly, Builder, Depth, Example, Format, History, KeyKind, Level, LevelVerdict, Occurrences,
    Operation, Progress, Report, Status, check, read, write,
};
use pgdyno_measurement::RecordedHistory;
use pgdyno_model::Fact;
use pgdyno_model::document::isolation::{
    IsolationCheck, IsolationExample, IsolationFound, IsolationKept, IsolationLink,
    IsolationOperation, IsolationPromise, IsolationTransaction,
};
use pgdyno_script::{Observation, Op, Script};

use crate::prepare::Prepared;

/// Longer histories are only checked for what read committed forbids: all levels of 100,000 transactions
/// take up to a minute (bench/README.md), and memory grows with them.
const ALL_LEVELS_MAX: usize = 200_000;
/// Histories of an example with more transactions are not kept.
const REPLAY_MAX: usize = 2_000;
/// Longer lists are shown by their ends.
const ELEMENTS_MAX: usize = 8;

/// What is known beside the history.
struct Circumstances {
    /// The level in effect, as it was read in a transaction.
    in_effect: Fact<String>,
    /// What the product promises there.
    promise: Fact<IsolationPromise>,
    /// Where scripts of a role went.
    reads: Option<String>,
    /// Why the history does not have all transactions, if it does not.
    not_whole: Option<String>,
    /// Whether every key was read when clients had ended, where they write: else the last reading may be a
    /// standby's, which is late.
    is_read_at_end: bool,
    /// The statements of the scripts that say what they do.
    statements: Statements,
}

/// By what an operation does, the statement that does it; nothing where several do.
#[derive(Default)]
struct Statements(Vec<(Observation, Option<String>)>);

impl Statements {
    fn of<'s>(scripts: impl IntoIterator<Item = &'s Script>) -> Self {
        let mut statements = Self::default();
        let commands = scripts.into_iter().flat_map(|script| &script.commands);
        for command in commands {
            let Op::Sql(sql) = &command.op else { continue };
            let text = sql.text.split_whitespace().collect::<Vec<_>>().join(" ");
            for one in &sql.observed {
                let before = { statements.0.iter_mut() }.find(|(what, _)| *what == one.what);
                match before {
                    Some((_, known)) if known.as_ref() != Some(&text) => *known = None,
                    Some(_) => {}
                    None => statements.0.push((one.what, Some(text.clone()))),
                }
            }
        }
        statements
    }

    /// Of an operation. A read that found nothing may be of a list or of a register: then it is the one that there is.
    fn statement(&self, history: &History, operation: Operation) -> Option<String> {
        let kind = history.kind(operation.key());
        let what: &[Observation] = match operation {
            Operation::Append { .. } => &[Observation::Append],
            Operation::Write { .. } => &[Observation::Write],
            Operation::Insert { .. } => &[Observation::Insert],
            Operation::ReadRows { .. } | Operation::UnreadRows { .. } => &[Observation::Rows],
            Operation::ReadList { .. } => &[Observation::List],
            Operation::Read { .. } => &[Observation::Read],
            Operation::ReadNothing { .. } | Operation::Unread { .. } => match kind {
                KeyKind::List => &[Observation::List],
                KeyKind::Register => &[Observation::Read],
                _ => &[Observation::List, Observation::Read],
            },
        };
        let mut known = self.0.iter().filter(|(of, _)| what.contains(of));
        match (known.next(), known.next()) {
            (Some((_, statement)), None) => statement.clone(),
            _ => None,
        }
    }
}

/// What this recorded history of a trial shows. `is_read_at_end`: every key was read when clients had ended.
pub(crate) fn of_trial(
    prepared: &Prepared,
    recorded: &RecordedHistory,
    is_read_at_end: bool,
) -> Fact<IsolationCheck> {
    let history = match recorded.history() {
        Ok(history) => history,
        Err(error) => {
            return Fact::Unknown(format!("the recording is no history: {error}"));
        }
    };
    let in_effect = prepared.facts.isolation.clone();
    let of = Circumstances {
        promise: promise::of(prepared, &in_effect),
        in_effect,
        reads: promise::reads(prepared),
        not_whole: recorded
            .is_cut_off()
            .then(|| "the history is cut off: it grew too large".to_owned()),
        is_read_at_end,
        statements: Statements::of(prepared.scripts.iter().map(|of| of.program.script())),
    };
    checked(&history, of, &mut |_| {})
}

fn checked(
    history: &History,
    of: Circumstances,
    progress: &mut dyn FnMut(Progress),
) -> Fact<IsolationCheck> {
    let begun = Instant::now();
    let depth = match history.transactions().len() {
        ..=ALL_LEVELS_MAX => Depth::All,
        _ => Depth::ReadCommitted,
    };
    let mut report = match check(history, depth, progress) {
        Ok(report) => report,
        Err(error) => return Fact::Unknown(format!("the history cannot be checked: {error}")),
    };
    if !of.is_read_at_end {
        report.counts.writes_read_at_end = 0;
        report
            .found
            .retain(|found| found.anomaly != Anomaly::LostWrite);
    }
    let forbids = promise::forbids(of.promise.known());
    let counts = report.counts;
    let keys = 0..u32::try_from(history.key_count()).unwrap_or(u32::MAX);
    let found = report.found.iter();
    Fact::Known(IsolationCheck {
        in_effect: of.in_effect,
        promise: of.promise,
        reads: of.reads,
        recorded: history.transactions().len() as u64,
        committed: counts.committed,
        aborted: counts.aborted,
        unknown: counts.unknown,
        dependencies: counts.dependencies,
        conflicting_pairs: counts.conflicting_overlaps,
        acknowledged_writes: counts.acknowledged_writes,
        writes_read_at_end: counts.writes_read_at_end,
        has_predicates: keys
            .into_iter()
            .any(|key| history.kind(key) == KeyKind::Group),
        not_whole: of.not_whole,
        levels: levels(&report),
        found: found
            .map(|found| of_found(history, found, forbids(found.anomaly), &of.statements))
            .collect(),
        notes: report.notes,
        took_ms: begun.elapsed().as_millis() as u64,
    })
}

fn levels(report: &Report) -> Vec<IsolationKept> {
    let of = |(level, kept): &(Level, LevelVerdict)| IsolationKept {
        level: level.name().to_owned(),
        kept: match kept {
            LevelVerdict::NoViolation => Some(true),
            LevelVerdict::Broken(_) => Some(false),
            LevelVerdict::NotKnown(_) => None,
        },
        by: match kept {
            LevelVerdict::Broken(by) => {
                by.iter().map(|anomaly| anomaly.name().to_owned()).collect()
            }
            _ => Vec::new(),
        },
        unknown: match kept {
            LevelVerdict::NotKnown(why) => Some(why.clone()),
            _ => None,
        },
    };
    report.levels.iter().map(of).collect()
}

fn of_found(
    history: &History,
    found: &Occurrences,
    forbidden: Option<bool>,
    statements: &Statements,
) -> IsolationFound {
    let example = &found.example;
    let replay = replay(history, example);
    let found_again = replay.as_deref().map(|text| shows(text, found.anomaly));
    IsolationFound {
        anomaly: found.anomaly.name().to_owned(),
        meaning: found.anomaly.meaning().to_owned(),
        count: found.count,
        at_least: found.at_least,
        forbidden,
        example: IsolationExample {
            transactions: transactions(history, example, statements),
            links: links(history, example),
            story: example.story.clone(),
            replay,
            found_again,
        },
    }
}

/// Whether a history as text shows an anomaly, or one that breaks all levels that it breaks: in a small history there
/// may be time to see that its circle has a shorter way back.
fn shows(text: &str, anomaly: Anomaly) -> bool {
    let Ok(history) = read(text) else {
        return false;
    };
    let breaks_the_same = |other: Anomaly| {
        let mut levels = Level::ALL.into_iter();
        other == anomaly || levels.all(|level| !level.forbids(anomaly) || level.forbids(other))
    };
    let report = check(&history, Depth::All, &mut |_| ());
    report.is_ok_and(|report| {
        let mut found = report.found.iter().map(|found| found.anomaly);
        found.any(breaks_the_same)
    })
}

/// The keys that an example is about.
fn keys_of(history: &History, example: &Example) -> Vec<u32> {
    let linked: Vec<u32> = example.links.iter().filter_map(|link| link.key).collect();
    let own = || {
        let operations = example.transactions.iter();
        operations
            .flat_map(|&of| history.operations(of))
            .map(|of| of.key())
    };
    let mut keys: Vec<u32> = if linked.is_empty() {
        own().collect()
    } else {
        linked
    };
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// All that the history has of the keys of an example, as JSON lines. What remains of a history when all
/// operations of other keys are left out shows nothing that the whole one does not: each dependency is of
/// one key, and those of sessions and time stay. Nothing if that is too much.
fn replay(history: &History, example: &Example) -> Option<String> {
    let keys = keys_of(history, example);
    let mut builder = Builder::new();
    let numbers: Vec<u32> = { keys.iter() }
        .map(|&key| builder.key(history.key(key).clone()))
        .collect();
    let mut count = 0;
    for (number, transaction) in (0..).zip(history.transactions()) {
        let operations = history.operations(number).iter();
        let concerned = operations.filter_map(|operation| {
            let at = keys.binary_search(&operation.key()).ok()?;
            Some((numbers[at], *operation))
        });
        let mut concerned = concerned.peekable();
        if concerned.peek().is_none() {
            continue;
        }
        count += 1;
        if count > REPLAY_MAX {
            return None;
        }
        let of = builder.begin(
            transaction.client,
            transaction.status,
            transaction.begin_ns,
            transaction.end_ns,
        );
        for (key, operation) in concerned {
            match operation {
                Operation::Append { value, .. } => of.append(key, value),
                Operation::Write { value, .. } => of.write(key, value),
                Operation::Insert { value, .. } => of.insert(key, value),
                Operation::Read { value, .. } => of.read(key, value),
                Operation::ReadNothing { .. } => of.read_nothing(key),
                Operation::Unread { .. } => of.unread(key),
                Operation::UnreadRows { .. } => of.unread_rows(key),
                Operation::ReadList { spine, len, .. } => {
                    of.read_list(key, history.list(spine, len))
                }
                Operation::ReadRows { start, len, .. } => {
                    of.read_rows(key, history.rows(start, len))
                }
            };
        }
    }
    let cut = builder.finish().ok()?;
    let mut text = Vec::new();
    write(&cut, Format::Json, &mut text).ok()?;
    String::from_utf8(text).ok()
}

fn name(transaction: u32) -> String {
    format!("T{}", u64::from(transaction) + 1)
}

fn transactions(
    history: &History,
    example: &Example,
    statements: &Statements,
) -> Vec<IsolationTransaction> {
    let all = history.transactions();
    let of = |&number: &u32| &all[number as usize];
    let first = example
        .transactions
        .iter()
        .map(of)
        .map(|one| one.begin_ns)
        .min();
    let us = |ns: i64| Some((ns - first?) as f64 / 1e3);
    let operation = |operation: &Operation| IsolationOperation {
        did: did(history, *operation),
        key: history.key(operation.key()).to_string(),
        writes: operation.written().is_some(),
        statement: statements.statement(history, *operation),
    };
    let transaction = |number: &u32| {
        let it = of(number);
        IsolationTransaction {
            name: name(*number),
            client: it.client.into(),
            began_us: us(it.begin_ns),
            ended_us: us(it.end_ns),
            end: match it.status {
                Status::Committed => "committed",
                Status::Aborted => "aborted",
                Status::Unknown => "unknown",
            }
            .to_owned(),
            operations: history.operations(*number).iter().map(operation).collect(),
        }
    };
    example.transactions.iter().map(transaction).collect()
}

fn did(history: &History, operation: Operation) -> String {
    let key = history.key(operation.key());
    match operation {
        Operation::Append { value, .. } => format!("append {value} to {key}"),
        Operation::Write { value, .. } => format!("write {key} = {value}"),
        Operation::Insert { value, .. } => format!("insert row {value} into {key}"),
        Operation::Read { value, .. } => format!("read {key} = {value}"),
        Operation::ReadNothing { .. } => format!("read {key} = nothing"),
        Operation::ReadList { spine, len, .. } => {
            format!("read {key} = {}", listed(history.list(spine, len)))
        }
        Operation::ReadRows { start, len, .. } => {
            format!("read rows of {key} = {}", listed(history.rows(start, len)))
        }
        Operation::Unread { .. } | Operation::UnreadRows { .. } => {
            format!("read {key}, answer not recorded")
        }
    }
}

fn listed(values: &[i64]) -> String {
    let skipped = values.len().saturating_sub(ELEMENTS_MAX);
    let shown: Vec<String> = values[skipped..].iter().map(i64::to_string).collect();
    let more = if skipped > 0 { "… " } else { "" };
    format!("[{more}{}]", shown.join(" "))
}

/// The steps of a cycle; the story has a sentence for each of them behind those of its transactions.
fn links(history: &History, example: &Example) -> Vec<IsolationLink> {
    let at = |transaction: u32| {
        example
            .transactions
            .iter()
            .position(|of| *of == transaction)
    };
    let reported = example.story.len().saturating_sub(example.links.len());
    let links = example.links.iter().zip(&example.story[reported..]);
    links
        .filter_map(|(link, sentence)| {
            let (_, why) = sentence.split_once(": ").unwrap_or(("", sentence));
            Some(IsolationLink {
                from: at(link.from)?,
                to: at(link.to)?,
                kind: link.kind.name().to_owned(),
                key: link.key.map(|key| history.key(key).to_string()),
                why: why.trim_end_matches(", a contradiction").to_owned(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use pgdyno_script::{Language, Names};

    use super::*;

    /// Two transactions that each read what the other then wrote, and a third of another key.
    const WRITE_SKEW: &str = r#"{"type":"invoke","process":0,"value":[["r","x",null],["append","y",1]]}
{"type":"invoke","process":1,"value":[["r","y",null],["append","x",1]]}
{"type":"ok","process":0,"value":[["r","x",[]],["append","y",1]]}
{"type":"ok","process":1,"value":[["r","y",[]],["append","x",1]]}
{"type":"invoke","process":0,"value":[["append","z",1]]}
{"type":"ok","process":0,"value":[["append","z",1]]}
"#;

    /// The second saw one write of the first and missed the other.
    const READ_SKEW: &str = r#"{"type":"invoke","process":0,"value":[["append","x",1],["append","y",1]]}
{"type":"invoke","process":1,"value":[["r","x",null],["r","y",null]]}
{"type":"ok","process":0,"value":[["append","x",1],["append","y",1]]}
{"type":"ok","process":1,"value":[["r","x",[]],["r","y",[1]]]}
"#;

    fn promising(level: &str) -> Circumstances {
        Circumstances {
            in_effect: Fact::Known(level.to_owned()),
            promise: Fact::Known(IsolationPromise {
                level: level.to_owned(),
                allows: String::new(),
                source: "a test".to_owned(),
                except: Vec::new(),
            }),
            reads: None,
            not_whole: None,
            statements: Statements::default(),
            is_read_at_end: true,
        }
    }

    fn at(level: &str, text: &str) -> IsolationCheck {
        checked_with(promising(level), text)
    }

    fn checked_with(circumstances: Circumstances, text: &str) -> IsolationCheck {
        match checked(&read(text).unwrap(), circumstances, &mut |_| ()) {
            Fact::Known(check) => check,
            Fact::Unknown(why) => panic!("{why}"),
        }
    }

    /// An acknowledged append that the last reading does not show.
    const LOST: &str = r#"{"type":"invoke","process":0,"value":[["append","x",1]]}
{"type":"ok","process":0,"value":[["append","x",1]]}
{"type":"invoke","process":1,"value":[["r","x",null]]}
{"type":"ok","process":1,"value":[["r","x",[]]]}
"#;

    #[test]
    fn a_lost_write_breaks_every_promise_and_is_only_known_from_a_reading_at_the_end() {
        let check = at("read committed", LOST);
        assert!(check.is_broken());
        let lost = check
            .found
            .iter()
            .find(|found| found.anomaly == "lost-write");
        let lost = lost.unwrap();
        assert_eq!((lost.count, lost.forbidden), (1, Some(true)));
        assert_eq!(lost.example.found_again, Some(true));
        assert_eq!(
            (check.acknowledged_writes, check.writes_read_at_end),
            (1, 1)
        );
        // The last reader may have been at a standby that is late.
        let circumstances = Circumstances {
            is_read_at_end: false,
            ..promising("read committed")
        };
        let check = checked_with(circumstances, LOST);
        assert!(!check.is_broken());
        assert!(
            check
                .found
                .iter()
                .all(|found| found.anomaly != "lost-write")
        );
        assert_eq!(check.writes_read_at_end, 0);
    }

    #[test]
    fn write_skew_breaks_serializable_and_is_allowed_by_snapshot_isolation() {
        let check = at("serializable", WRITE_SKEW);
        assert!(check.is_broken());
        assert!(!at("snapshot isolation", WRITE_SKEW).is_broken());
        assert_eq!(check.recorded, 3);
        assert_eq!(check.committed + check.aborted + check.unknown, 3);
        assert!(!check.has_predicates);
        let serializable = check.levels.iter().find(|of| of.level == "serializable");
        let serializable = serializable.unwrap();
        assert_eq!(serializable.kept, Some(false));
        assert!(serializable.by.contains(&"G2-item".to_owned()));
    }

    #[test]
    fn an_example_is_drawn_from_its_data_and_its_own_history_shows_it_again() {
        let check = at("serializable", WRITE_SKEW);
        let found = check.found.iter().find(|found| found.anomaly == "G2-item");
        let example = &found.unwrap().example;
        assert_eq!(example.transactions.len(), 2);
        assert_eq!(example.transactions[0].operations.len(), 2);
        assert_eq!(example.links.len(), 2);
        for link in &example.links {
            assert_eq!(link.kind, "rw");
            assert!(link.why.contains("without"), "{}", link.why);
        }
        assert_eq!(example.found_again, Some(true));
        let replay = example.replay.as_ref().unwrap();
        assert!(!replay.contains("\"z\""), "{replay}");
    }

    #[test]
    fn a_history_that_breaks_the_same_levels_shows_an_anomaly_again_and_a_weaker_one_does_not() {
        let of = |text: &str, name: &str| {
            let report = check(&read(text).unwrap(), Depth::All, &mut |_| ()).unwrap();
            report.anomaly(name).unwrap().anomaly
        };
        let (write_skew, read_skew) = (of(WRITE_SKEW, "G2-item"), of(READ_SKEW, "G-single-item"));
        assert!(shows(READ_SKEW, read_skew) && shows(READ_SKEW, write_skew));
        assert!(shows(WRITE_SKEW, write_skew) && !shows(WRITE_SKEW, read_skew));
        assert!(!shows("no history", write_skew));
    }

    #[test]
    fn an_operation_has_the_statement_of_the_script_that_does_it_and_none_if_several_do() {
        let script = |text: &str| {
            let mut names = Names::new();
            Language::Pgdyno.parse("s", text, &mut names).unwrap()
        };
        let one = script(
            "SELECT v\n  FROM lists WHERE k = 1;\n\\observe list 1\nUPDATE lists SET v = 2;\n\\observe append 1 2\n",
        );
        let two = script("INSERT INTO lists VALUES (1, 2);\n\\observe append 1 2\n");
        let history = read(WRITE_SKEW).unwrap();
        let [looks, appends] = history.operations(0) else {
            panic!("{history:?}");
        };
        let of = |scripts: &[Script], operation: Operation| {
            Statements::of(scripts).statement(&history, operation)
        };
        let select = Some("SELECT v FROM lists WHERE k = 1;".to_owned());
        let alone = std::slice::from_ref(&one);
        assert_eq!(of(alone, *looks), select);
        assert_eq!(
            of(alone, *appends).as_deref(),
            Some("UPDATE lists SET v = 2;")
        );
        let both = [one.clone(), two];
        assert_eq!(of(&both, *looks), select);
        assert_eq!(of(&both, *appends), None);
    }

    #[test]
    fn a_history_that_cannot_be_checked_says_why() {
        let twice = WRITE_SKEW.replace("\"x\",1]", "\"y\",1]");
        let circumstances = promising("serializable");
        let checked = checked(&read(&twice).unwrap(), circumstances, &mut |_| ());
        let Fact::Unknown(why) = checked else {
            panic!("{checked:?}");
        };
        assert!(why.contains("value 1 of key y is written twice"), "{why}");
    }
}
