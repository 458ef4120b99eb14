//! What is in a recording, by one pass over it.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;

use crate::event::{Event, Obstacle, Statement};
use crate::{About, Ending, Error, Losses, Reader};

/// Texts that are counted apart; further ones are one.
const TEXTS_MAX: usize = 20_000;

/// Statements that differ in their values alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OfText {
    pub text: String,
    pub fingerprint: u64,
    pub statements: u64,
    pub failed: u64,
    /// Of those whose time is known.
    pub timed: u64,
    pub sum_us: u64,
    pub most_us: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    pub about: About,
    /// The recording's own sums; none where its end is missing.
    pub ending: Option<Ending>,
    pub losses: Losses,
    pub statements: u64,
    pub sessions: u64,
    pub failed: u64,
    pub extended: u64,
    /// Start of the first statement, end of the last one.
    pub begin_us: i64,
    pub end_us: i64,
    /// The second in which most statements began, by its distance from the beginning, and how many did.
    pub peak_s: i64,
    pub peak_statements: u64,
    /// Most sessions that were open at once.
    pub peak_sessions: u64,
    /// The shortest time of a statement: those below a threshold are not in the log.
    pub shortest_us: Option<u64>,
    /// Cannot be replayed, and why.
    pub obstacles: BTreeMap<Obstacle, u64>,
    /// By their time, the greatest first.
    pub texts: Vec<OfText>,
}

/// Reads a recording to its end.
///
/// # Errors
/// It cannot be read, or is none. Damage is no error.
pub fn summary<R: Read>(input: R) -> Result<Summary, Error> {
    let mut reader = Reader::new(input)?;
    let mut summary = Summary {
        begin_us: i64::MAX,
        end_us: i64::MIN,
        ..Summary::default()
    };
    let mut seconds: HashMap<i64, u64> = HashMap::new();
    let mut texts: HashMap<u64, OfText> = HashMap::new();
    let mut open = 0u64;
    while let Some(block) = reader.next_block()? {
        for event in &block.events {
            match event {
                Event::Begin(_) => {
                    summary.sessions += 1;
                    open += 1;
                    summary.peak_sessions = summary.peak_sessions.max(open);
                }
                Event::End(_) => open = open.saturating_sub(1),
                Event::Statement(statement) => {
                    *seconds
                        .entry(statement.start_us.div_euclid(1_000_000))
                        .or_default() += 1;
                    summary.add(statement, &mut texts);
                }
            }
        }
    }
    summary.losses = reader.losses();
    summary.about = reader.about().clone();
    summary.ending = reader.ending().cloned();
    if summary.statements == 0 {
        (summary.begin_us, summary.end_us) = (0, 0);
    }
    let peak = seconds
        .into_iter()
        .max_by_key(|(second, count)| (*count, -second));
    if let Some((second, count)) = peak {
        summary.peak_s = second - summary.begin_us.div_euclid(1_000_000);
        summary.peak_statements = count;
    }
    summary.texts = texts.into_values().collect();
    summary
        .texts
        .sort_by_key(|text| std::cmp::Reverse((text.sum_us, text.statements, text.fingerprint)));
    Ok(summary)
}

impl Summary {
    fn add(&mut self, statement: &Statement, texts: &mut HashMap<u64, OfText>) {
        let us = statement.duration_us;
        self.statements += 1;
        self.failed += u64::from(statement.failed.is_some());
        self.extended += u64::from(statement.protocol == crate::Protocol::Extended);
        self.begin_us = self.begin_us.min(statement.start_us);
        let lasts = i64::try_from(us.unwrap_or(0)).unwrap_or(i64::MAX);
        self.end_us = self.end_us.max(statement.start_us.saturating_add(lasts));
        if let Some(us) = us {
            self.shortest_us = Some(self.shortest_us.map_or(us, |shortest| shortest.min(us)));
        }
        if let Some(obstacle) = statement.obstacle {
            *self.obstacles.entry(obstacle).or_default() += 1;
        }
        let is_full = texts.len() >= TEXTS_MAX;
        let fingerprint = statement.text.fingerprint;
        let key = if is_full && !texts.contains_key(&fingerprint) {
            0
        } else {
            fingerprint
        };
        let text = texts.entry(key).or_insert_with(|| OfText {
            text: if is_full {
                "(all other statements)".to_owned()
            } else {
                statement.text.readable()
            },
            fingerprint: key,
            ..OfText::default()
        });
        text.statements += 1;
        text.failed += u64::from(statement.failed.is_some());
        text.timed += u64::from(us.is_some());
        text.sum_us = text.sum_us.saturating_add(us.unwrap_or(0));
        text.most_us = text.most_us.max(us.unwrap_or(0));
    }
}
