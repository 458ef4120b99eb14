//! The answer of a sweep of SLOB: where the caches end, or where logical reads peak.

use pgdyno_model::document::Proof;
use pgdyno_model::document::answer::{Answer, AnswerState, Sure};
use pgdyno_model::document::repeats::Spread;
use pgdyno_model::document::slob_sweep::{SlobSweep, SlobSweepPoint};
use pgdyno_spec::text as figures;

/// Where the page shows it.
const SECTION: &str = "slob";
const LINK: &str = "Cache fit";
/// The unit of an axis of sizes.
const BYTES: &str = "bytes";
/// An end that was found is the setting's if it lies so near to it: points are that far apart.
const NEAR: f64 = 1.5;

/// The answer; `None`: no point has figures.
pub fn answer(sweep: &SlobSweep) -> Option<Answer> {
    let mut points: Vec<(&SlobSweepPoint, &Spread)> = { sweep.points.iter() }
        .filter_map(|point| Some((point, point.liops.as_ref()?)))
        .collect();
    points.sort_by_key(|(point, _)| point.x);
    let (last, _) = *points.last()?;
    Some(match sweep.x.unit.as_str() {
        BYTES => of_sizes(sweep, &points, last),
        _ => of_others(sweep, &points),
    })
}

fn of_sizes(
    sweep: &SlobSweep,
    points: &[(&SlobSweepPoint, &Spread)],
    last: &SlobSweepPoint,
) -> Answer {
    let sentences = sweep.sentences.as_deref().unwrap_or_default();
    let trimmed = |sentence: &String| sentence.trim_end_matches('.').to_owned();
    let knee = sweep.knees.first();
    let (state, sentence) = match (knee, sentences.first()) {
        (Some(knee), _) => (AnswerState::Known, knee.sentence.clone()),
        (None, Some(sentence)) => (AnswerState::NotKnown, trimmed(sentence)),
        (None, None) => (
            AnswerState::NotKnown,
            "Not known where a cache ends: too few sizes were measured".to_owned(),
        ),
    };
    let mut evidence = Vec::new();
    for (us, from) in costs(sentences) {
        evidence.push(Proof::new(us, from).at(SECTION, LINK));
    }
    let mut sure = repeats(points);
    let mark = sweep
        .marks
        .iter()
        .find(|mark| mark.name == "shared_buffers");
    if let (Some(knee), Some(mark)) = (knee, mark) {
        let is = figures::bytes(mark.x as f64);
        let factor = (mark.x as f64 / knee.x).max(knee.x / mark.x as f64);
        sure.push(if factor <= NEAR {
            Sure::held(
                "The setting says the same",
                format!("shared_buffers is {is}"),
            )
        } else {
            Sure::limit(
                "The setting says otherwise",
                format!("shared_buffers is {is}"),
            )
        });
    }
    if sweep.knees.len() < 2 {
        let to = place(sweep, last);
        let text = format!("sets up to {to} were measured");
        sure.push(Sure::limit("The page cache's end was not seen", text));
    }
    Answer {
        question: "What was asked: which sets fit which cache, and what does a read cost?"
            .to_owned(),
        sentence,
        state,
        evidence,
        sure,
        remedies: match state {
            AnswerState::Known => Vec::new(),
            _ => vec!["measure more sizes on both sides: `--max-size`".to_owned()],
        },
        ..Answer::default()
    }
}

/// What the fit says a logical read costs on each level, as figure and words.
fn costs(sentences: &[String]) -> Vec<(String, String)> {
    let costs = { sentences.iter() }.find_map(|it| it.strip_prefix("A logical read costs "));
    let costs = costs.unwrap_or_default().trim_end_matches('.').split(", ");
    costs
        .filter_map(|cost| cost.split_once(" from "))
        .map(|(us, from)| {
            (
                us.to_owned(),
                format!("is the cost of a logical read from {from}"),
            )
        })
        .collect()
}

/// Sessions, or shares of reads: where most is read.
fn of_others(sweep: &SlobSweep, points: &[(&SlobSweepPoint, &Spread)]) -> Answer {
    let median = |(_, spread): &&(&SlobSweepPoint, &Spread)| spread.over.median;
    let best = points.iter().max_by(|a, b| median(a).total_cmp(&median(b)));
    let mut all = points.iter();
    let apart = best.is_some_and(|best| {
        all.all(|other| other.0.x == best.0.x || other.1.over.max < best.1.over.min)
    });
    let least = points.iter().map(|(_, spread)| spread.values.len()).min();
    let title = &sweep.x.title;
    let (state, sentence) = match (best, least) {
        (Some(_), Some(1)) => (
            AnswerState::CannotTell,
            format!("Cannot tell at which {title} most is read: one trial of each is a first look"),
        ),
        (Some((point, spread)), _) if apart => (
            AnswerState::Known,
            format!(
                "Most is read at {}: {} logical reads a second",
                place(sweep, point),
                figures::some(spread.over.median)
            ),
        ),
        (Some((point, _)), _) => (
            AnswerState::CannotTell,
            format!(
                "Cannot tell at which {title} most is read: {} leads, and others' repeats overlap",
                place(sweep, point)
            ),
        ),
        (None, _) => (AnswerState::NotKnown, "Nothing was measured".to_owned()),
    };
    let evidence = match (best, least) {
        (Some((point, spread)), Some(2..)) => vec![
            Proof::new(
                figures::per_second(spread.over.median),
                format!(
                    "logical reads at {}, the median of {}; {} to {}",
                    place(sweep, point),
                    figures::plural(spread.values.len() as u64, "trial"),
                    figures::some(spread.over.min),
                    figures::some(spread.over.max)
                ),
            )
            .at(SECTION, LINK),
        ],
        _ => Vec::new(),
    };
    Answer {
        question: format!("What was asked: logical reads by {title}"),
        sentence,
        state,
        evidence,
        sure: repeats(points),
        remedies: match state {
            AnswerState::Known => Vec::new(),
            _ => vec!["more trials of each: `--repeat 6`".to_owned()],
        },
        ..Answer::default()
    }
}

fn repeats(points: &[(&SlobSweepPoint, &Spread)]) -> Vec<Sure> {
    let least = points.iter().map(|(_, spread)| spread.values.len()).min();
    let of = figures::plural(points.len() as u64, "point");
    vec![match least.unwrap_or(0) {
        0 | 1 => Sure::limit(
            "One trial of each",
            format!("{of}: one outlier would shift the result"),
        ),
        n => Sure::held(format!("{n} trials of each"), of),
    }]
}

/// `64 MB`, `4 sessions`, `80 % reads`.
fn place(sweep: &SlobSweep, point: &SlobSweepPoint) -> String {
    match sweep.x.unit.as_str() {
        BYTES => figures::bytes(point.x as f64),
        "%" => format!("{} % reads", point.x),
        _ => figures::plural(point.x, "session"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_model::document::answer::SureState;
    use pgdyno_model::document::slob_sweep::{SlobAxis, SlobKnee, SlobMark};
    use pgdyno_stats::{Bootstrap, Sample};

    const MB: u64 = 1 << 20;

    fn point(x: u64, liops: &[f64]) -> SlobSweepPoint {
        let sample = Sample::new(liops).unwrap();
        SlobSweepPoint {
            x,
            liops: Some(Spread {
                over: (&sample.summary(&Bootstrap::default())).into(),
                values: liops.iter().copied().map(Some).collect(),
            }),
            hit_share: None,
            misses_per_s: None,
            device_reads_per_s: None,
            p50_us: None,
            p99_us: None,
            us_per_read: Some(1e6 / liops[0]),
            trials: Vec::new(),
        }
    }

    fn sweep(unit: &str, title: &str, points: Vec<SlobSweepPoint>) -> SlobSweep {
        SlobSweep {
            x: SlobAxis {
                title: title.to_owned(),
                unit: unit.to_owned(),
            },
            points,
            marks: Vec::new(),
            knees: Vec::new(),
            sentences: None,
        }
    }

    #[test]
    fn where_a_cache_ends_is_held_against_the_setting() {
        let points = vec![point(64 * MB, &[1e6]), point(256 * MB, &[1e5])];
        let mut of = sweep("bytes", "active set", points);
        assert_eq!(answer(&of).unwrap().state, AnswerState::NotKnown);
        of.knees.push(SlobKnee {
            x: 128.0 * MB as f64,
            sentence: "shared_buffers: 128 MB fit, 160 MB do not".to_owned(),
        });
        for (setting, state) in [(128, SureState::Held), (512, SureState::Limit)] {
            of.marks = vec![SlobMark {
                x: setting * MB,
                name: "shared_buffers".to_owned(),
            }];
            let answer = answer(&of).unwrap();
            assert_eq!(answer.sentence, "shared_buffers: 128 MB fit, 160 MB do not");
            assert_eq!(answer.sure[1].state, state);
            assert_eq!(answer.sure[0].name, "One trial of each");
            assert_eq!(answer.sure[2].name, "The page cache's end was not seen");
        }
    }

    #[test]
    fn a_peak_is_named_only_where_repeats_lie_apart() {
        let of = |one: &[f64], two: &[f64]| {
            let points = vec![point(1, one), point(2, two)];
            let answer = answer(&sweep("sessions", "sessions", points)).unwrap();
            (answer.state, answer.sentence)
        };
        let known = of(&[100.0, 110.0], &[190.0, 200.0]);
        let sentence = "Most is read at 2 sessions: 195 logical reads a second";
        assert_eq!(known, (AnswerState::Known, sentence.to_owned()));
        assert_eq!(
            of(&[100.0, 195.0], &[190.0, 200.0]).0,
            AnswerState::CannotTell
        );
        assert_eq!(of(&[100.0], &[200.0]).0, AnswerState::CannotTell);
    }
}
