//! Who watches trials and experiments: the screen, the notebook, the metrics endpoint, a test. The
//! runner tells each of them the same events.

use std::time::{Duration, SystemTime};

use pgdyno_measurement::{
    DriveError, Event, Interval, LoggedTransaction, Message, Recording, StampEvent,
};

use crate::event::{Finished, Notice, PlannedTrial, Title};
use crate::observed::Batch;
use pgdyno_spec::Failure;

/// Watches trials, and the experiment that they belong to. Every method does nothing by default. `O`
/// is what a trial comes to.
///
/// A trial's events come in this order: [`starting`], messages while clients connect, [`ready`],
/// [`begun`], then seconds, observations, messages and logged transactions as they come, [`observed`]
/// a last time, [`ended`]. Of a trial that could not connect only the first ones and `ended` come.
///
/// All come from the thread that runs the trial, never from one of the clients': they come once a
/// second, in batches, or when something went wrong, and never with a transaction.
///
/// [`starting`]: Observer::starting
/// [`ready`]: Observer::ready
/// [`begun`]: Observer::begun
/// [`observed`]: Observer::observed
/// [`ended`]: Observer::ended
pub trait Observer<O> {
    /// A trial is prepared: instruments and clients begin to connect when this returns.
    fn starting(&mut self, _title: &Title) {}

    /// All clients are connected and none works yet: they begin when this returns, and the clock
    /// with them.
    fn ready(&mut self) {}

    /// Clients are at work, by the wall clock since `started`.
    fn begun(&mut self, _started: SystemTime) {}

    /// A second (or the rest of one) is over, all threads together.
    fn second(&mut self, _interval: &Interval) {}

    /// Instruments have read something. Comes after [`second`](Observer::second), and a last time
    /// after the clients have gone.
    fn observed(&mut self, _batch: &Batch) {}

    /// A client has something to say.
    fn message(&mut self, _message: &Message) {}

    /// Something happened to a client's connection.
    fn event(&mut self, _event: &Event) {}

    /// Transactions of a thread have ended, in this order; only when the trial logs them.
    fn logged(&mut self, _thread: usize, _transactions: &[LoggedTransaction]) {}

    /// Clients of a thread have written and read their stamps, in this order.
    fn stamped(&mut self, _events: &[StampEvent]) {}

    /// All clients of a thread have ended, `at_us` microseconds after the start; nothing more comes
    /// from it.
    fn thread_ended(&mut self, _thread: usize, _at_us: u64) {}

    /// Clients and instruments have gone: what was measured, or why nothing was.
    fn ended(&mut self, _result: Result<&Recording, &DriveError>) {}

    /// A trial of an experiment comes next; all that are left take about so long.
    fn trial_announced(&mut self, _trial: &PlannedTrial, _left: Duration) {}

    /// A trial of an experiment is not run, and why.
    fn trial_skipped(&mut self, _trial: &PlannedTrial, _why: &str) {}

    /// A trial of an experiment is over and kept, whatever came of it.
    ///
    /// # Errors
    /// Its result cannot be written where the user wants it: a full disk. It ends the experiment.
    fn trial_finished(&mut self, _finished: &Finished<'_, O>) -> Result<(), Failure> {
        Ok(())
    }

    fn notice(&mut self, _notice: &Notice) {}
}

/// Passes every event on to each of several observers, in their order.
macro_rules! pass_on {
    ($self:ident => $each:expr) => {
        pass_on! { $self => $each;
            starting(title: &Title);
            ready();
            begun(started: SystemTime);
            second(interval: &Interval);
            observed(batch: &Batch);
            message(message: &Message);
            event(event: &Event);
            logged(thread: usize, transactions: &[LoggedTransaction]);
            stamped(events: &[StampEvent]);
            thread_ended(thread: usize, at_us: u64);
            ended(result: Result<&Recording, &DriveError>);
            trial_announced(trial: &PlannedTrial, left: Duration);
            trial_skipped(trial: &PlannedTrial, why: &str);
            notice(notice: &Notice);
        }

        fn trial_finished(&mut $self, finished: &Finished<'_, O>) -> Result<(), Failure> {
            // One that cannot write its result does not keep it from the others.
            $each.map(|observer| observer.trial_finished(finished)).fold(Ok(()), Result::and)
        }
    };
    ($self:ident => $each:expr; $($event:ident($($name:ident: $type:ty),*);)*) => {
        $(fn $event(&mut $self, $($name: $type),*) {
            $each.for_each(|observer| observer.$event($($name),*));
        })*
    };
}

/// Several observers side by side. Each event goes to all of them in the order of the list before
/// the next event comes.
pub struct Observers<'a, O>(Vec<&'a mut (dyn Observer<O> + 'a)>);

impl<'a, O> Observers<'a, O> {
    pub fn new<const N: usize>(observers: [&'a mut (dyn Observer<O> + 'a); N]) -> Self {
        Self(Vec::from(observers))
    }

    pub fn of(observers: Vec<&'a mut (dyn Observer<O> + 'a)>) -> Self {
        Self(observers)
    }
}

impl<O> Observer<O> for Observers<'_, O> {
    pass_on!(self => self.0.iter_mut());
}

/// One that may be missing.
impl<O, T: Observer<O>> Observer<O> for Option<T> {
    pass_on!(self => self.iter_mut());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::State;
    use crate::event::Role;
    use pgdyno_measurement::Level;
    use pgdyno_spec::Until;
    use std::cell::RefCell;

    /// Records the events it receives under its name.
    struct Written<'a> {
        name: &'static str,
        words: &'a RefCell<Vec<String>>,
        is_full: bool,
    }

    impl Written<'_> {
        fn write(&self, word: &str) {
            self.words
                .borrow_mut()
                .push(format!("{} {word}", self.name));
        }
    }

    impl Observer<u32> for Written<'_> {
        fn starting(&mut self, title: &Title) {
            self.write(&title.workload);
        }

        fn message(&mut self, message: &Message) {
            self.write(&message.text);
        }

        fn trial_finished(&mut self, finished: &Finished<'_, u32>) -> Result<(), Failure> {
            self.write(&format!("finished {:?}", finished.outcome));
            if self.is_full {
                Err(Failure::new(format!("{} is full", self.name)))
            } else {
                Ok(())
            }
        }
    }

    /// Does not want to know anything.
    struct Indifferent;

    impl<O> Observer<O> for Indifferent {}

    fn title() -> Title {
        Title {
            workload: "tpcb".to_owned(),
            target: "here".to_owned(),
            clients: 1,
            scripts: Vec::new(),
            warmup: Duration::ZERO,
            until: Until::Elapsed(Duration::ZERO),
        }
    }

    #[test]
    fn each_event_goes_to_all_in_their_order_before_the_next() {
        let words = RefCell::default();
        let written = |name| Written {
            name,
            words: &words,
            is_full: false,
        };
        let (mut a, mut b) = (written("a"), written("b"));
        let mut missing: Option<Written<'_>> = None;
        let mut given = Some(written("given"));
        let mut inner = Observers::new([&mut b, &mut missing]);
        let mut indifferent = Indifferent;
        let mut all = Observers::new([&mut a, &mut indifferent, &mut inner, &mut given]);
        all.starting(&title());
        all.message(&Message {
            level: Level::Info,
            text: "hello".to_owned(),
        });
        let want = [
            "a tpcb",
            "b tpcb",
            "given tpcb",
            "a hello",
            "b hello",
            "given hello",
        ];
        assert_eq!(*words.borrow(), want);
    }

    #[test]
    fn a_result_that_one_cannot_write_still_goes_to_the_others() {
        let words = RefCell::default();
        let written = |name, is_full| Written {
            name,
            words: &words,
            is_full,
        };
        let (mut full, mut fuller) = (written("disk", true), written("tape", true));
        let mut screen = written("screen", false);
        let mut all = Observers::new([&mut full, &mut fuller, &mut screen]);
        let trial = PlannedTrial {
            position: 1,
            trials: Some(1),
            label: "clients = 1".to_owned(),
            role: Role::Point,
            point: serde_json::Value::Null,
            repeat: 1,
        };
        let reported = all.trial_finished(&Finished {
            trial: &trial,
            state: State::Complete,
            outcome: Ok(&7),
            error: None,
            before: &serde_json::Value::Null,
        });
        assert_eq!(reported.unwrap_err().message, "disk is full");
        let want = [
            "disk finished Ok(7)",
            "tape finished Ok(7)",
            "screen finished Ok(7)",
        ];
        assert_eq!(*words.borrow(), want);
    }

    #[test]
    fn an_observer_needs_no_method() {
        let mut indifferent = Indifferent;
        let observer: &mut dyn Observer<()> = &mut indifferent;
        observer.starting(&title());
        observer.ready();
        observer.begun(SystemTime::UNIX_EPOCH);
        observer.second(&Interval::default());
        observer.observed(&Batch::default());
        observer.logged(0, &[]);
        observer.stamped(&[]);
        observer.thread_ended(0, 1);
        observer.ended(Err(&DriveError::Interrupted));
        observer.notice(&Notice::Note("nothing".to_owned()));
    }

    #[test]
    fn a_notice_says_how_much_it_matters() {
        let texts = [Notice::Warning, Notice::Note, Notice::Done].map(|of| of("it".to_owned()));
        assert_eq!(
            texts.map(|notice| notice.to_string()),
            ["warning: it", "note: it", "it"]
        );
    }
}
