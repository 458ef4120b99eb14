//! The live feed: a subject that has viewers is read by one thread for all of them, and what changed is
//! made into bytes once. Each viewer sends these from a thread of its own: one that is slow misses some
//! and gets the whole document later; no other waits for it.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pgdyno_platform::cpu_time;
use pgdyno_spec::Failure;
use serde_json::{Value, json};

use crate::pages::{Change, Pages, Source, Subject};

/// How often a subject is read at most.
const INTERVAL: Duration = Duration::from_secs(1);
/// All readers together take at most one part in so many of a CPU.
const COST_TIMES: u32 = 20;
/// Unless that would make a page older than this.
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// And ask the notebook for at most one part in so many of the time.
const ASKING_TIMES: u32 = 2;
/// Viewers get an empty event this often, to find out which have left.
const QUIET_MAX: Duration = Duration::from_secs(15);

/// An event as it is sent.
pub type Bytes = Arc<[u8]>;

/// All subjects that have viewers.
pub struct Hub {
    pages: Arc<Pages>,
    feeds: Mutex<HashMap<Subject, Arc<PageFeed>>>,
}

/// A subject that has viewers.
struct PageFeed {
    state: Mutex<State>,
    /// There is something for viewers.
    changed: Condvar,
    /// There is something for the reader.
    asked: Condvar,
}

#[derive(Default)]
struct State {
    viewers: usize,
    /// Counts the document's versions; 0: there is none yet.
    version: u64,
    /// What makes this version of the one before.
    delta: Option<Bytes>,
    whole: Option<(u64, Bytes)>,
    /// A viewer waits for all of it.
    is_wanted: bool,
    /// The notebook cannot be read, which viewers are shown.
    away: Option<Bytes>,
    /// Counts how often it went away.
    absences: u64,
    is_over: bool,
}

impl Hub {
    pub fn new(pages: Arc<Pages>) -> Self {
        Self {
            pages,
            feeds: Mutex::default(),
        }
    }

    /// Makes one a viewer of a subject.
    ///
    /// # Errors
    /// There is no thread to read it with.
    pub fn watch(self: &Arc<Self>, subject: &Subject) -> Result<Viewer, Failure> {
        let mut feeds = self.feeds();
        let feed = match feeds.get(subject) {
            Some(feed) => feed.clone(),
            None => {
                let feed = Arc::new(PageFeed {
                    state: Mutex::default(),
                    changed: Condvar::new(),
                    asked: Condvar::new(),
                });
                let (hub, of, read) = (self.clone(), subject.clone(), feed.clone());
                thread::Builder::new()
                    .name("feed".to_owned())
                    .spawn(move || {
                        let _broken = BrokenFeed(&hub, &of, &read);
                        hub.read(&of, &read);
                    })
                    .map_err(|e| Failure::no_thread("that reads for viewers", &e))?;
                feeds.insert(subject.clone(), feed.clone());
                feed
            }
        };
        feed.state().viewers += 1;
        Ok(Viewer {
            feed,
            version: 0,
            absences: 0,
            has_ended: false,
        })
    }

    /// How many viewers there are.
    pub fn viewers(&self) -> usize {
        self.feeds().values().map(|feed| feed.state().viewers).sum()
    }

    /// Whether a viewer waits for the rest of a subject that will be over.
    pub fn are_watched(&self) -> bool {
        let feeds = self.feeds();
        let mut watched = feeds
            .iter()
            .filter(|(subject, _)| matches!(subject, Subject::Trial(_) | Subject::Together(_)));
        watched.any(|(_, feed)| feed.state().viewers > 0)
    }

    fn feeds(&self) -> MutexGuard<'_, HashMap<Subject, Arc<PageFeed>>> {
        self.feeds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a subject until it has no viewers.
    fn read(&self, subject: &Subject, feed: &PageFeed) {
        let mut source = None;
        loop {
            let (began, cpu) = (Instant::now(), cpu_time::thread());
            feed.look(subject, &self.pages, &mut source);
            let cost = Duration::from_micros((cpu_time::thread() - cpu).total_us());
            let readers = u32::try_from(self.feeds().len()).unwrap_or(u32::MAX);
            let pause = pause(cost, began.elapsed(), readers);
            feed.rest(began + pause, source.as_ref());
            let mut feeds = self.feeds();
            if feed.state().viewers == 0 {
                feeds.remove(subject);
                return;
            }
        }
    }
}

/// A reader that panics leaves no viewer waiting for it.
struct BrokenFeed<'a>(&'a Hub, &'a Subject, &'a PageFeed);

impl Drop for BrokenFeed<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let Self(hub, subject, feed) = self;
            hub.feeds().remove(*subject);
            feed.state().is_over = true;
            feed.changed.notify_all();
        }
    }
}

/// How long after a reading began the next one does, so that all readers together cost little and no page is
/// old.
fn pause(cost: Duration, asking: Duration, readers: u32) -> Duration {
    let by_cost = cost.saturating_mul(COST_TIMES).saturating_mul(readers);
    INTERVAL
        .max(by_cost.min(PAUSE_MAX))
        .max(asking.saturating_mul(ASKING_TIMES))
}

impl PageFeed {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks for what is new, and tells it.
    fn look(&self, subject: &Subject, pages: &Pages, source: &mut Option<Source>) {
        if source.as_ref().is_some_and(Source::is_over) {
            return;
        }
        let looked = pages.notebooks.with(|store| match source {
            Some(source) => source.advance(pages, store),
            None => {
                *source = Some(pages.open(store, subject)?);
                Ok(Change::Whole)
            }
        });
        let over = source.as_ref().is_some_and(Source::is_over);
        let mut state = self.state();
        match looked {
            Ok(change) => {
                let returns = state.away.take().is_some();
                match change {
                    Change::Same if !returns => return,
                    // Back, and all is as it was.
                    Change::Same => state.is_now(Some(&json!({ "o": {} }))),
                    Change::By(delta) => state.is_now(Some(&delta)),
                    Change::Whole => state.is_now(None),
                }
                state.is_over = over;
            }
            Err(failure) => {
                if state.away.is_none() {
                    state.absences += 1;
                    let words = json!({ "error": failure.message, "hints": failure.hints });
                    state.away = Some(event("away", &words));
                }
            }
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until then, or until there are no viewers; gives those who want it the whole document.
    fn rest(&self, until: Instant, source: Option<&Source>) {
        let mut state = self.state();
        loop {
            if state.is_wanted && state.version > 0 {
                state.is_wanted = false;
                let version = state.version;
                // Not under the lock: no viewer waits for it.
                drop(state);
                let whole = source.map(|source| event("whole", source.document()));
                state = self.state();
                state.whole = whole.map(|whole| (version, whole));
                self.changed.notify_all();
                continue;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || state.viewers == 0 {
                return;
            }
            let waited = self.asked.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl State {
    /// The document has its next version: by this delta, or as another.
    fn is_now(&mut self, delta: Option<&Value>) {
        self.version += 1;
        self.delta = delta.map(|delta| event("delta", delta));
        self.whole = None;
    }
}

/// As it is sent. JSON has no line breaks.
fn event(name: &str, data: &Value) -> Bytes {
    format!("event: {name}\ndata: {data}\n\n")
        .into_bytes()
        .into()
}

/// One who watches a subject.
pub struct Viewer {
    feed: Arc<PageFeed>,
    /// Which one it has; 0: none.
    version: u64,
    absences: u64,
    has_ended: bool,
}

impl Viewer {
    /// Waits for what it is to be sent next. `None`: that was all.
    pub fn next(&mut self) -> Option<Bytes> {
        if self.has_ended {
            return None;
        }
        let began = Instant::now();
        let mut state = self.feed.state();
        loop {
            if let Some(away) = &state.away
                && self.absences < state.absences
            {
                self.absences = state.absences;
                return Some(away.clone());
            }
            if self.version < state.version {
                let whole = state.whole.as_ref();
                let whole = whole.filter(|(version, _)| *version == state.version);
                let is_next = self.version > 0 && self.version + 1 == state.version;
                let delta = state.delta.as_ref().filter(|_| is_next);
                if let Some(bytes) = delta.or(whole.map(|(_, bytes)| bytes)) {
                    self.version = state.version;
                    return Some(bytes.clone());
                }
                state.is_wanted = true;
                self.feed.asked.notify_one();
            } else if state.is_over {
                self.has_ended = true;
                return Some(event("end", &json!({})));
            }
            let left = QUIET_MAX.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Some(Arc::from(&b": nothing new\n\n"[..]));
            }
            let waited = self.feed.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.feed.state().viewers -= 1;
        self.feed.asked.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed() -> Arc<PageFeed> {
        Arc::new(PageFeed {
            state: Mutex::default(),
            changed: Condvar::new(),
            asked: Condvar::new(),
        })
    }

    fn viewer(feed: &Arc<PageFeed>) -> Viewer {
        feed.state().viewers += 1;
        Viewer {
            feed: feed.clone(),
            version: 0,
            absences: 0,
            has_ended: false,
        }
    }

    fn next(viewer: &mut Viewer) -> Option<String> {
        viewer
            .next()
            .map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[test]
    fn a_viewer_gets_the_whole_then_deltas_and_after_missing_some_the_whole_again() {
        let feed = feed();
        let mut source = Source::Over(json!({ "n": 1 }));
        let (mut quick, mut slow) = (viewer(&feed), viewer(&feed));
        feed.state().is_now(None);
        feed.state().is_wanted = true;
        feed.rest(Instant::now(), Some(&source));
        let whole = "event: whole\ndata: {\"n\":1}\n\n";
        for viewer in [&mut quick, &mut slow] {
            assert_eq!(next(viewer).unwrap(), whole);
        }
        for n in 2..4 {
            source = Source::Over(json!({ "n": n }));
            feed.state()
                .is_now(Some(&json!({ "o": { "n": { "v": n } } })));
            let delta = format!("event: delta\ndata: {{\"o\":{{\"n\":{{\"v\":{n}}}}}}}\n\n");
            assert_eq!(next(&mut quick).unwrap(), delta);
        }
        // It missed the version between, and asks the reader.
        let waiting = thread::spawn(move || (next(&mut slow), slow));
        while !feed.state().is_wanted {
            thread::yield_now();
        }
        feed.rest(Instant::now(), Some(&source));
        let (all, mut slow) = waiting.join().unwrap();
        assert_eq!(all.unwrap(), "event: whole\ndata: {\"n\":3}\n\n");
        feed.state().is_over = true;
        for viewer in [&mut quick, &mut slow] {
            assert_eq!(next(viewer).unwrap(), "event: end\ndata: {}\n\n");
            assert_eq!(next(viewer), None);
        }
        drop((quick, slow));
        assert_eq!(feed.state().viewers, 0);
    }

    #[test]
    fn who_reads_dearly_reads_seldom() {
        let ms = Duration::from_millis;
        assert_eq!(pause(ms(1), ms(1), 1), INTERVAL);
        assert_eq!(pause(ms(100), ms(100), 1), ms(2000));
        assert_eq!(pause(ms(100), ms(100), 3), PAUSE_MAX);
        assert_eq!(pause(ms(100), ms(4000), 3), ms(8000));
        assert_eq!(pause(ms(1), ms(900), 1), ms(1800));
    }
}
