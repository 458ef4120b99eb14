//! What is shown: the report's pages, each from the notebook, and how they go on while something runs.

use pgdyno_model::State;
use pgdyno_model::document::page::{ComparePage, Query, Served};
use pgdyno_model::notebook::{Filter, TrialRow};
use pgdyno_model::observed::Rows;
use pgdyno_model::progress::Silent;
use pgdyno_report::glance::Watch;
use pgdyno_report::page::live::{Running, Step};
use pgdyno_report::page::{self, delta};
use pgdyno_spec::{Exit, Failure};
use pgdyno_store::Store;
use serde::Serialize;
use serde_json::{Value, json};

use crate::notebooks::Notebooks;

/// What `pgdyno compare A B` finds of two sets that are named as there; paired, where that is said.
pub type Compare = fn(&Store, &str, &str, bool) -> Result<ComparePage, Failure>;

/// What a page is of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Subject {
    /// The notebook: what runs, and a list.
    Notebook(Query),
    /// A trial by its number.
    Trial(i64),
    /// The trial of several generators of which this is a part.
    Together(i64),
    /// An experiment by its UUID.
    Experiment(String),
}

pub struct Pages {
    pub notebooks: Notebooks,
    /// What the series of trials are.
    pub rows: Rows,
    pub compare: Compare,
    /// Whether viewers may change something.
    pub may_change: bool,
}

impl Pages {
    /// A page's data, for one who opens it.
    ///
    /// # Errors
    /// There is no such thing; the notebook cannot be read.
    pub fn document(&self, subject: &Subject) -> Result<Value, Failure> {
        self.notebooks
            .with(|store| Ok(self.open(store, subject)?.into_document()))
    }

    /// The data of a comparison's page.
    ///
    /// # Errors
    /// A side names nothing; the notebook cannot be read.
    pub fn comparison(&self, a: &str, b: &str, paired: bool) -> Result<Value, Failure> {
        self.notebooks.with(|store| {
            let mut page = (self.compare)(store, a, b, paired)?;
            page.common.served = Some(self.served(store, None));
            json(&page)
        })
    }

    fn served(&self, store: &Store, events: Option<String>) -> Served {
        Served {
            notebook: store.place(),
            may_change: self.may_change,
            events,
            live: None,
            part: None,
            together: false,
        }
    }

    /// Begins to follow it.
    ///
    /// # Errors
    /// There is no such thing; the notebook cannot be read.
    pub fn open(&self, store: &Store, subject: &Subject) -> Result<Source, Failure> {
        match subject {
            Subject::Notebook(query) => {
                let mut watch = Watch::default();
                Ok(Source::Notebook {
                    query: query.clone(),
                    document: self.notebook(store, query, &mut watch)?,
                    watch,
                })
            }
            Subject::Experiment(uuid) => Ok(Source::Experiment {
                uuid: uuid.clone(),
                state: trials_of(store, uuid)?,
                document: self.experiment(store, uuid)?,
            }),
            Subject::Trial(number) => {
                let row = store.trial(&number.to_string())?;
                row.check_seconds()?;
                if row.state != State::Running {
                    return Ok(Source::Over(self.trial(store, &row)?));
                }
                let served = self.served(store, Some(format!("/trial/{number}/events")));
                let running = Running::open(store, &row, self.rows, served)?;
                Ok(Source::Running(subject.clone(), Box::new(running)))
            }
            Subject::Together(number) => {
                let Some(part) = store.part_of(*number)? else {
                    return self.open(store, &Subject::Trial(*number));
                };
                let is_over = |number: i64| {
                    let state = store.trial(&number.to_string())?.state;
                    Ok::<_, Failure>(state != State::Running)
                };
                if let Some(whole) = part.whole
                    && is_over(whole)?
                {
                    return self.open(store, &Subject::Trial(whole));
                }
                let row = store.trial(&number.to_string())?;
                row.check_seconds()?;
                let events = format!("/trial/{number}/together/events");
                let served = Served {
                    together: true,
                    ..self.served(store, Some(events))
                };
                let running = Running::open(store, &row, self.rows, served)?;
                Ok(Source::Running(subject.clone(), Box::new(running)))
            }
        }
    }

    fn trial(&self, store: &Store, row: &TrialRow) -> Result<Value, Failure> {
        let mut page = page::trial(store, row, self.rows)?;
        page.common.served = Some(Served {
            part: store.part_of(row.number)?,
            ..self.served(store, None)
        });
        json(&page)
    }

    fn notebook(&self, store: &Store, query: &Query, watch: &mut Watch) -> Result<Value, Failure> {
        let served = self.served(store, Some(events(query)));
        json(&page::notebook::notebook(store, query, served, watch)?)
    }

    fn experiment(&self, store: &Store, uuid: &str) -> Result<Value, Failure> {
        let row = store.experiment(uuid)?;
        let mut page = page::experiment(store, &row, None, &mut Silent)?;
        let events = format!("/experiment/{}/events", row.uuid);
        page.common.served = Some(self.served(store, Some(events)));
        json(&page)
    }
}

/// The path of a list's changes.
fn events(query: &Query) -> String {
    let page = (query.page > 1).then(|| query.page.to_string());
    let all = [
        ("q", &query.q),
        ("workload", &query.workload),
        ("tag", &query.tag),
        ("state", &query.state),
        ("experiment", &query.experiment),
        ("page", &page),
    ];
    let given = all.into_iter().filter_map(|(name, value)| {
        let encode = percent_encoding::utf8_percent_encode;
        let value = encode(value.as_deref()?, percent_encoding::NON_ALPHANUMERIC);
        Some(format!("{name}={value}"))
    });
    let given: Vec<String> = given.collect();
    if given.is_empty() {
        "/events".to_owned()
    } else {
        format!("/events?{}", given.join("&"))
    }
}

/// What is known of an experiment's trials without reading them: a page is made anew when it changes.
type TrialsOf = Vec<(i64, State, Option<String>)>;

fn trials_of(store: &Store, uuid: &str) -> Result<TrialsOf, Failure> {
    let trials = store.listed(&Filter {
        experiment: Some(uuid.to_owned()),
        ..Filter::default()
    })?;
    let of =
        |trial: pgdyno_model::notebook::ListedTrial| (trial.number, trial.state, trial.excluded);
    Ok(trials.into_iter().map(of).collect())
}

/// A subject that is followed.
pub enum Source {
    Notebook {
        query: Query,
        document: Value,
        watch: Watch,
    },
    Experiment {
        uuid: String,
        state: TrialsOf,
        document: Value,
    },
    Running(Subject, Box<Running>),
    /// It does not change any more.
    Over(Value),
}

/// What has become of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    Same,
    /// The document has changed by this delta.
    By(Value),
    Whole,
}

impl Source {
    pub fn document(&self) -> &Value {
        match self {
            Self::Notebook { document, .. }
            | Self::Experiment { document, .. }
            | Self::Over(document) => document,
            Self::Running(_, running) => running.document(),
        }
    }

    /// The same, for one who asks once.
    fn into_document(self) -> Value {
        match self {
            Self::Notebook { document, .. }
            | Self::Experiment { document, .. }
            | Self::Over(document) => document,
            Self::Running(_, running) => running.into_document(),
        }
    }

    /// Whether nothing more will come.
    pub fn is_over(&self) -> bool {
        matches!(self, Self::Over(_))
    }

    /// Looks for what has changed.
    ///
    /// # Errors
    /// The notebook cannot be read; the document stays as it was.
    pub fn advance(&mut self, pages: &Pages, store: &Store) -> Result<Change, Failure> {
        match self {
            Self::Over(_) => Ok(Change::Same),
            Self::Notebook {
                query,
                document,
                watch,
            } => Ok(became(document, pages.notebook(store, query, watch)?)),
            Self::Experiment {
                uuid,
                state,
                document,
            } => {
                let now = trials_of(store, uuid)?;
                if now == *state {
                    return Ok(Change::Same);
                }
                let change = became(document, pages.experiment(store, uuid)?);
                *state = now;
                Ok(change)
            }
            Self::Running(subject, running) => match running.advance(store)? {
                Step::Same => Ok(Change::Same),
                Step::Changed(delta) => Ok(Change::By(delta)),
                Step::Over(_) => {
                    let number = over(store, subject)?;
                    let row = store.trial(&number.to_string())?;
                    *self = Self::Over(pages.trial(store, &row)?);
                    Ok(Change::Whole)
                }
            },
        }
    }
}

/// The trial whose report takes the place of a running one's page: of several generators that of all; the one
/// that was asked for, where no generator was left to add them up.
fn over(store: &Store, subject: &Subject) -> Result<i64, Failure> {
    Ok(match subject {
        Subject::Together(number) => {
            let part = store.part_of(*number)?;
            part.and_then(|part| part.whole).unwrap_or(*number)
        }
        Subject::Trial(number) => *number,
        Subject::Notebook(_) | Subject::Experiment(_) => {
            return Err(Failure::new("only trials end"));
        }
    })
}

/// Takes the new document; when it was written is no change.
fn became(document: &mut Value, mut new: Value) -> Change {
    let written = new["written"].take();
    new["written"] = document["written"].clone();
    let Some(mut change) = delta::between(document, &new) else {
        return Change::Same;
    };
    change["o"]["written"] = json!({ "v": written });
    new["written"] = written;
    *document = new;
    Change::By(change)
}

fn json(document: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(document)
        .map_err(|e| Failure::with(Exit::Failed, format!("a page without JSON: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_a_page_was_written_is_no_change_of_it() {
        let mut document = json!({ "written": "1", "a": 1 });
        assert_eq!(
            became(&mut document, json!({ "written": "2", "a": 1 })),
            Change::Same
        );
        assert_eq!(document["written"], "1");
        let change = became(&mut document, json!({ "written": "3", "a": 2 }));
        let wanted = json!({ "o": { "a": { "v": 2 }, "written": { "v": "3" } } });
        assert_eq!(change, Change::By(wanted));
        assert_eq!(document, json!({ "written": "3", "a": 2 }));
    }

    #[test]
    fn the_events_of_a_list_are_of_that_list() {
        assert_eq!(events(&Query::default()), "/events");
        let query = Query {
            q: Some("a&b c".to_owned()),
            page: 3,
            ..Query::default()
        };
        assert_eq!(events(&query), "/events?q=a%26b%20c&page=3");
    }
}
