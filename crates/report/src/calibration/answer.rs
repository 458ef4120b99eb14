//! The answer of a calibration: whether the infrastructure is as fast as expected.

use pgdyno_model::document::Proof;
use pgdyno_model::document::answer::{Answer, AnswerState, Sure};
use pgdyno_model::document::calibration::{
    Baseline, Calibration, CalibrationLine, LineVerdict, Range, Saturation, What, Yardstick,
};
use pgdyno_spec::text as figures;

/// Where the page shows it.
const SECTION: &str = "calibration";

pub fn answer(c: &Calibration) -> Answer {
    // Reads and updates are the question; round trips and commits explain them.
    let order = [What::Read, What::Update, What::Commit, What::RoundTrip];
    let lines: Vec<&CalibrationLine> = { order.iter() }
        .filter_map(|what| c.lines.iter().find(|line| line.line == *what))
        .collect();
    let mut evidence: Vec<Proof> = { lines.iter() }
        .map(|line| {
            let words = format!("{}, {}", mean_of(line), verdict(line));
            Proof::new(figures::time(line.mean_us), words).at(SECTION, "Figures")
        })
        .collect();
    if let Some(more) = &c.concurrency
        && let Some(stops) = more.throughput_stops
        // What pgdyno could not drive says nothing of the server.
        && !more.steps.iter().any(|step| step.client_bound)
    {
        let (figure, words) = match stops {
            Saturation::At {
                clients,
                goodput_per_s,
            } => (
                figures::per_second(goodput_per_s),
                format!(
                    "is the maximum, at {}: more clients add less than {}",
                    figures::plural(clients.into(), "client"),
                    figures::roughly(more.least_growth)
                ),
            ),
            Saturation::Beyond {
                clients,
                goodput_per_s,
            } => (
                figures::per_second(goodput_per_s),
                format!(
                    "at {}, the highest tried: it still grows",
                    figures::plural(clients.into(), "client")
                ),
            ),
        };
        evidence.push(Proof::new(figure, words).at(SECTION, "Figures"));
    }
    let doubts = doubts(&lines);
    // A doubtful commit alone says nothing of reads and updates.
    let mut of_baseline = doubts.iter();
    let of_baseline = of_baseline.find(|(of, _)| {
        of.iter()
            .any(|what| matches!(what, What::Read | What::Update))
    });
    let doubt = of_baseline.map(|(_, doubt)| *doubt);
    Answer {
        question: "What was asked: is the infrastructure as fast as expected?".to_owned(),
        sentence: sentence(c, &lines, doubt),
        state: match c.baseline {
            None => AnswerState::NotKnown,
            Some(Baseline::Met) if doubt.is_some() => AnswerState::CannotTell,
            Some(_) => AnswerState::Known,
        },
        evidence,
        careful: doubt.map(str::to_owned),
        sure: sure(c, &lines, &doubts),
        remedies: remedies(c, &lines),
        ..Answer::default()
    }
}

fn sentence(c: &Calibration, lines: &[&CalibrationLine], doubt: Option<&str>) -> String {
    match c.baseline {
        None => "Not known: reads and updates were not measured to the end".to_owned(),
        Some(Baseline::Met) if let Some(doubt) = doubt => {
            let shortly = doubt.split(": ").next().unwrap_or(doubt);
            format!("Cannot tell: reads and updates are fast enough, but {shortly}")
        }
        Some(Baseline::Met) => {
            let times: Vec<String> = { lines.iter() }
                .filter(|line| is_asked(line))
                .map(|line| format!("{} take {}", plural(line.line), figures::time(line.mean_us)))
                .collect();
            let better = { lines.iter() }
                .filter(|line| is_asked(line))
                .all(|line| line.verdict == LineVerdict::Better);
            let word = if better { "faster than" } else { "as fast as" };
            format!(
                "The infrastructure is {word} expected: {}",
                times.join(", ")
            )
        }
        Some(Baseline::Missed) => {
            let missed: Vec<&&CalibrationLine> = { lines.iter() }
                .filter(|line| is_asked(line) && line.verdict == LineVerdict::Missed)
                .collect();
            let times: Vec<String> = { missed.iter() }
                .map(|line| {
                    format!(
                        "{} take {}, {} expected",
                        plural(line.line),
                        figures::time(line.mean_us),
                        range(line.expected)
                    )
                })
                .collect();
            let cause = missed.iter().find_map(|line| line.cause.as_ref());
            let cause = cause.map_or_else(String::new, |cause| {
                format!("; most of it is the {}", cause.part.name())
            });
            format!("Slower than expected: {}{cause}", times.join("; "))
        }
    }
}

/// Whether it is part of the baseline.
fn is_asked(line: &CalibrationLine) -> bool {
    matches!(line.line, What::Read | What::Update)
}

fn plural(what: What) -> &'static str {
    match what {
        What::RoundTrip => "round trips",
        What::Commit => "commits",
        What::Read => "reads",
        What::Update => "updates",
    }
}

fn single(what: What) -> &'static str {
    match what {
        What::RoundTrip => "round trip",
        What::Commit => "commit",
        What::Read => "read",
        What::Update => "update",
    }
}

/// `a read takes on average`, at which endpoint.
fn mean_of(line: &CalibrationLine) -> String {
    let article = if line.line == What::Update { "an" } else { "a" };
    let at = line.endpoint.as_ref();
    let at = at.map_or_else(String::new, |name| {
        format!(" at the slowest endpoint, {}", figures::shown(name))
    });
    format!("{article} {} on average{at}", single(line.line))
}

fn verdict(line: &CalibrationLine) -> String {
    let expected = range(line.expected);
    match line.verdict {
        LineVerdict::Met => format!("as expected ({expected})"),
        LineVerdict::Better => format!("better than expected ({expected})"),
        LineVerdict::Missed => format!("slower than expected ({expected})"),
    }
}

/// `1.00 ms to 2.00 ms`, `up to 1.00 ms`.
fn range(range: Range) -> String {
    if range.low_us > 0.0 {
        format!(
            "{} to {}",
            figures::time(range.low_us),
            figures::time(range.high_us)
        )
    } else {
        format!("up to {}", figures::time(range.high_us))
    }
}

/// Why figures of the baseline, or of what explains it, are doubtful: each reason once, by its lines.
fn doubts<'a>(lines: &[&'a CalibrationLine]) -> Vec<(Vec<What>, &'a str)> {
    let mut all: Vec<(Vec<What>, &str)> = Vec::new();
    for line in lines {
        for doubt in &line.doubts {
            match all.iter_mut().find(|(_, known)| known == doubt) {
                Some((of, _)) => of.push(line.line),
                None => all.push((vec![line.line], doubt)),
            }
        }
    }
    all
}

fn sure(c: &Calibration, lines: &[&CalibrationLine], doubts: &[(Vec<What>, &str)]) -> Vec<Sure> {
    let mut all = Vec::new();
    for (of, doubt) in doubts {
        let names: Vec<&str> = of.iter().map(|what| plural(*what)).collect();
        all.push(Sure::failed(
            format!("Doubt about {}", names.join(" and ")),
            (*doubt).to_owned(),
        ));
    }
    if !lines.is_empty() {
        let counts: Vec<String> = { lines.iter().filter(|line| is_asked(line)) }
            .map(|line| format!("{} {}", figures::count(line.count), plural(line.line)))
            .collect();
        if !counts.is_empty() {
            all.push(Sure::held("One client alone", counts.join(", ")));
        }
    }
    for (yardstick, held, name, text) in [
        (
            Yardstick::Host,
            true,
            "Judged by this host",
            "what it can do without a database, and the product's work",
        ),
        (
            Yardstick::Asked,
            true,
            "Judged by what was asked",
            "`--expect`",
        ),
        (
            Yardstick::Article,
            false,
            "Judged by an article",
            "figures for good infrastructure, not this host's",
        ),
    ] {
        let of: Vec<&str> = { lines.iter() }
            .filter(|line| line.yardstick == yardstick)
            .map(|line| plural(line.line))
            .collect();
        if of.is_empty() {
            continue;
        }
        let text = format!("{}: {text}", of.join(", "));
        all.push(if held {
            Sure::held(name, text)
        } else {
            Sure::limit(name, text)
        });
    }
    let causes = lines
        .iter()
        .filter(|line| line.verdict == LineVerdict::Missed);
    for line in causes {
        match &line.cause {
            Some(cause) => all.push(Sure::held(
                format!("Why {} are slow", plural(line.line)),
                format!("{}: {}", cause.part.name(), cause.sentence),
            )),
            None => all.push(Sure::limit(
                format!("Why {} are slow is not known", plural(line.line)),
                "the round trip was not measured",
            )),
        }
    }
    let steps = c.concurrency.iter().flat_map(|more| &more.steps);
    let bound = steps
        .filter(|step| step.client_bound)
        .map(|step| step.clients)
        .min();
    if let Some(clients) = bound {
        all.push(Sure::failed(
            "The generator had no room",
            format!(
                "from {} on pgdyno is the limit: the effect of more clients is not known",
                figures::plural(clients.into(), "client")
            ),
        ));
    }
    if !lines.is_empty() {
        all.push(Sure::limit(
            "This hour only",
            "each figure is of one trial: calibrate again to see how much they vary",
        ));
    }
    all
}

fn remedies(c: &Calibration, lines: &[&CalibrationLine]) -> Vec<String> {
    let by_article = lines
        .iter()
        .any(|line| line.yardstick == Yardstick::Article);
    match c.baseline {
        Some(Baseline::Missed) if by_article => vec![
            "set the times that are good here: `--expect read=LOW-HIGH,update=LOW-HIGH`".to_owned(),
        ],
        None => vec!["run `pgdyno calibrate` to its end".to_owned()],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_model::Fact;
    use pgdyno_model::document::answer::SureState;
    use pgdyno_model::document::calibration::{Cause, Part};

    fn line(what: What, mean_us: f64, verdict: LineVerdict) -> CalibrationLine {
        CalibrationLine {
            line: what,
            trial: 1,
            endpoint: None,
            endpoints: Vec::new(),
            count: 5_000,
            min_us: Some(10),
            p50_us: Some(mean_us as u64),
            p95_us: None,
            p99_us: None,
            max_us: 9_000,
            mean_us,
            expected: Range {
                low_us: 1_000.0,
                high_us: 2_000.0,
            },
            yardstick: Yardstick::Article,
            verdict,
            without_round_trip_us: None,
            without_round_trip_within: None,
            parts: std::collections::BTreeMap::new(),
            cause: None,
            doubts: Vec::new(),
            server_side: Fact::Unknown("not asked".to_owned()),
        }
    }

    fn calibration(baseline: Option<Baseline>, lines: Vec<CalibrationLine>) -> Calibration {
        Calibration {
            format: 1,
            calibration: "here".to_owned(),
            uuid: String::new(),
            created: String::new(),
            target: "db1".to_owned(),
            server: String::new(),
            facts: pgdyno_model::document::Facts::default(),
            params: Vec::new(),
            variables: std::collections::BTreeMap::new(),
            baseline,
            lines,
            sync: pgdyno_model::document::calibration::Sync::default(),
            host: Fact::Unknown("another host".to_owned()),
            concurrency: None,
        }
    }

    #[test]
    fn what_was_met_missed_doubtful_or_not_measured_is_said() {
        let (read, update) = (
            line(What::Read, 1_500.0, LineVerdict::Met),
            line(What::Update, 1_800.0, LineVerdict::Met),
        );
        let mut slow = line(What::Update, 8_210.0, LineVerdict::Missed);
        slow.cause = Some(Cause {
            part: Part::Sync,
            sentence: "the disk is slow".to_owned(),
            evidence: Vec::new(),
        });
        let mut doubtful = update.clone();
        doubtful.doubts.push("fsync is off".to_owned());
        let better = |of: &CalibrationLine| CalibrationLine {
            verdict: LineVerdict::Better,
            ..of.clone()
        };
        for (baseline, lines, state, sentence) in [
            (
                Some(Baseline::Met),
                vec![read.clone(), update.clone()],
                AnswerState::Known,
                "The infrastructure is as fast as expected: reads take 1.50 ms, updates take 1.80 ms",
            ),
            (
                Some(Baseline::Met),
                vec![better(&read), better(&update)],
                AnswerState::Known,
                "The infrastructure is faster than expected: reads take 1.50 ms, updates take 1.80 ms",
            ),
            (
                Some(Baseline::Missed),
                vec![read.clone(), slow],
                AnswerState::Known,
                "Slower than expected: updates take 8.21 ms, 1.00 ms to 2.00 ms expected; most of it \
                 is the sync",
            ),
            (
                Some(Baseline::Met),
                vec![read.clone(), doubtful],
                AnswerState::CannotTell,
                "Cannot tell: reads and updates are fast enough, but fsync is off",
            ),
            (
                None,
                vec![read],
                AnswerState::NotKnown,
                "Not known: reads and updates were not measured to the end",
            ),
        ] {
            let answer = answer(&calibration(baseline, lines));
            let plain = answer.sentence.replace('\u{a0}', " ");
            assert_eq!((answer.state, plain.as_str()), (state, sentence));
            let last = answer.sure.last().unwrap();
            assert_eq!(
                (last.state, last.name.as_str()),
                (SureState::Limit, "This hour only")
            );
        }
    }

    #[test]
    fn a_doubt_is_a_failed_check_and_said_beside_the_answer() {
        let mut commit = line(What::Commit, 100.0, LineVerdict::Better);
        commit.doubts.push("fsync is off".to_owned());
        let mut update = line(What::Update, 100.0, LineVerdict::Better);
        update.doubts.push("fsync is off".to_owned());
        let answer = answer(&calibration(Some(Baseline::Met), vec![commit, update]));
        assert_eq!(answer.careful.as_deref(), Some("fsync is off"));
        assert_eq!(answer.sure[0].state, SureState::Failed);
        assert_eq!(answer.sure[0].name, "Doubt about updates and commits");
    }
}
