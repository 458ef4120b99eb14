//! Reading ahead: a page of a thousand trials asks the same thirty questions of each. Of a server a question
//! about one trial is asked for the next few too, at once, and the answers wait for their turn.

use std::collections::{HashMap, VecDeque};

use pgdyno_session::Column;

/// Trials that a question is asked for at once.
const TRIALS: usize = 16;
/// Bytes of values that may wait; with more, each question is asked for its own trial alone.
const BYTES_MAX: usize = 64 << 20;

/// Parameters as the protocol has them.
pub type Texts = Vec<Option<String>>;

#[derive(Debug, Default)]
pub struct Answer {
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Option<Vec<u8>>>>,
    bytes: usize,
}

impl Answer {
    pub fn add(&mut self, columns: &[Column], values: &[Option<&[u8]>]) {
        if self.rows.is_empty() {
            self.columns = columns.to_vec();
        }
        let row: Vec<Option<Vec<u8>>> = values.iter().map(|v| v.map(<[u8]>::to_vec)).collect();
        self.bytes += row.iter().flatten().map(Vec::len).sum::<usize>();
        self.rows.push(row);
    }
}

/// The trials that are to be read, and answers about them that are not yet needed.
#[derive(Debug, Default)]
pub struct Ahead {
    trials: Vec<String>,
    places: HashMap<String, usize>,
    waiting: HashMap<String, VecDeque<(Texts, Answer)>>,
    bytes: usize,
}

impl Ahead {
    /// Trials that will be read in this order, and nothing written meanwhile.
    pub fn of(trials: &[i64]) -> Self {
        let trials: Vec<String> = trials.iter().map(i64::to_string).collect();
        let places = trials
            .iter()
            .enumerate()
            .map(|(at, trial)| (trial.clone(), at));
        Self {
            places: places.collect(),
            trials,
            ..Self::default()
        }
    }

    /// The answer that waits for this question.
    pub fn take(&mut self, sql: &str, params: &Texts) -> Option<Answer> {
        let waiting = self.waiting.get_mut(sql)?;
        let at = waiting.iter().position(|(of, _)| of == params)?;
        let (_, answer) = waiting.remove(at)?;
        self.bytes -= answer.bytes;
        Some(answer)
    }

    /// Parameters of the question about one trial, its first parameter, and about those after it; fewer
    /// than two where that is no use.
    pub fn questions(&self, params: &Texts) -> Vec<Texts> {
        let trial = params.first().and_then(Option::as_ref);
        let Some(at) = trial.and_then(|trial| self.places.get(trial)) else {
            return Vec::new();
        };
        if self.bytes > BYTES_MAX {
            return Vec::new();
        }
        let next = self.trials.iter().skip(*at).take(TRIALS);
        next.map(|trial| {
            let mut params = params.clone();
            params[0] = Some(trial.clone());
            params
        })
        .collect()
    }

    /// What came of a question.
    pub fn keep(&mut self, sql: &str, params: Texts, answer: Answer) {
        self.bytes += answer.bytes;
        let waiting = self.waiting.entry(sql.to_owned()).or_default();
        waiting.push_back((params, answer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(values: &[&str]) -> Texts {
        values
            .iter()
            .map(|value| Some((*value).to_owned()))
            .collect()
    }

    #[test]
    fn questions_are_those_of_the_next_trials() {
        let ahead = Ahead::of(&[7, 3, 9]);
        let all = [texts(&["3", "x"]), texts(&["9", "x"])];
        assert_eq!(ahead.questions(&texts(&["3", "x"])), all);
        assert!(ahead.questions(&texts(&["4", "x"])).is_empty());
        assert!(ahead.questions(&texts(&[])).is_empty());
        assert!(Ahead::default().questions(&texts(&["3"])).is_empty());
        let many: Vec<i64> = (0..100).collect();
        assert_eq!(Ahead::of(&many).questions(&texts(&["50"])).len(), TRIALS);
    }

    #[test]
    fn an_answer_is_given_once() {
        let mut ahead = Ahead::of(&[1, 2]);
        let mut answer = Answer::default();
        answer.add(&[], &[Some(b"abc"), None]);
        ahead.keep("SELECT", texts(&["2"]), answer);
        assert!(ahead.take("SELECT", &texts(&["1"])).is_none());
        assert!(ahead.take("SELECT 2", &texts(&["2"])).is_none());
        let answer = ahead.take("SELECT", &texts(&["2"])).unwrap();
        assert_eq!(answer.rows, [[Some(b"abc".to_vec()), None]]);
        assert!(ahead.take("SELECT", &texts(&["2"])).is_none());
        assert_eq!(ahead.bytes, 0);
    }

    #[test]
    fn with_much_that_waits_nothing_is_asked_ahead() {
        let mut ahead = Ahead::of(&[1, 2, 3]);
        let mut answer = Answer::default();
        answer.add(&[], &[Some(&vec![0; BYTES_MAX + 1])]);
        ahead.keep("SELECT", texts(&["2"]), answer);
        assert!(ahead.questions(&texts(&["1"])).is_empty());
        ahead.take("SELECT", &texts(&["2"])).unwrap();
        assert_eq!(ahead.questions(&texts(&["1"])).len(), 3);
    }
}
