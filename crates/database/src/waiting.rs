//! How long administrative statements wait, and what the user learns of those that take long: which
//! lock they wait for, and who holds it.
//!
//! The question goes over a second connection, which has a limit of its own and holds up nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use pgdyno_platform::interrupt::Interrupts;
use pgdyno_session::{Error, Patience, Session, Slow, Watcher, Watching};
use pgdyno_spec::TargetSpec;

use super::admin;
use super::dialect::Product;

/// How long a server may stay silent when it owes the answer to a query, if the user does not say.
const SILENCE_LIMIT: Duration = Duration::from_secs(30);
/// How long the second connection may take, and then its answer.
const ASK_LIMIT: Duration = Duration::from_secs(1);
/// How often it asks again, as long as the statement lasts.
const ASK_INTERVAL: Duration = Duration::from_secs(5);
/// How soon the asking thread notices that the statement has ended. Nothing waits for it.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

static SAY: OnceLock<fn(&str)> = OnceLock::new();

/// From here on, the user sees what slow statements wait for.
pub fn say_with(say: fn(&str)) {
    SAY.get_or_init(|| say);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For a byte of the server that owes the answer to a query; `None`: any time.
    pub silence: Option<Duration>,
    /// For a lock; `None`: as the server has it.
    pub lock: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            silence: Some(SILENCE_LIMIT),
            lock: None,
        }
    }
}

impl Limits {
    /// Those that are asked for.
    pub fn of(wanted: &TargetSpec) -> Self {
        let silence = wanted.silence_timeout.unwrap_or(SILENCE_LIMIT);
        Self {
            silence: Some(silence).filter(|limit| !limit.is_zero()),
            lock: wanted.lock_timeout,
        }
    }

    pub fn patience(&self) -> Patience {
        Patience {
            // Where they cannot be caught, they end the process.
            interrupts: Interrupts::install().ok(),
            silence_limit: self.silence,
            hang_limit: self.silence,
            watcher: SAY
                .get()
                .map(|say| Arc::new(Teller(*say)) as Arc<dyn Watcher>),
            on_cancel: None,
        }
    }

    /// Has the server keep the limit on locks.
    ///
    /// # Errors
    /// The connection is lost, or the server does not take it.
    pub fn tell(&self, session: &mut Session) -> Result<(), Error> {
        let Some(limit) = self.lock else {
            return Ok(());
        };
        let Some(name) = Product::ask(session)?.dialect.lock_timeout else {
            return Ok(());
        };
        session.apply_settings(&[(name, &limit.as_millis().to_string())])?;
        if !session.is_own()
            && let Some(say) = SAY.get()
        {
            say(
                "--lock-timeout does not hold for VACUUM: clients share the sessions of the server",
            );
        }
        Ok(())
    }
}

struct Teller(fn(&str));

/// A statement that is looked at.
#[derive(Default)]
struct Look {
    is_over: AtomicBool,
    waits_for: Mutex<Option<String>>,
}

struct Looking(Arc<Look>);

impl Watcher for Teller {
    fn watch(&self, slow: Slow) -> Box<dyn Watching> {
        let (look, say) = (Arc::<Look>::default(), self.0);
        let looking = Looking(look.clone());
        let silent = answer_awaited(&slow);
        let thread = thread::Builder::new().name("waiting".to_owned());
        // Without a thread nothing can be asked; the user still hears what takes so long.
        if thread.spawn(move || look_at(&slow, &look, say)).is_err() {
            say(&silent);
        }
        Box::new(looking)
    }
}

impl Watching for Looking {
    fn waits_for(&self) -> Option<String> {
        let said = self.0.waits_for.lock();
        said.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Looking {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

/// What a process of the server is at.
enum At {
    Lock(String),
    /// It does not wait for a lock.
    Work,
    Unknown,
}

fn answer_awaited(slow: &Slow) -> String {
    format!("waiting for the server's answer to: {}", slow.statement)
}

fn look_at(slow: &Slow, look: &Look, say: fn(&str)) {
    let mut said = String::new();
    let mut session = None;
    while !look.is_over.load(Ordering::Relaxed) {
        let at = ask(&mut session, slow);
        let (lock, says) = match at {
            At::Lock(lock) => {
                let lock = format!("waiting for {lock}");
                (Some(lock.clone()), Some(lock))
            }
            // What it does has been said before.
            At::Work if slow.is_work => (None, None),
            At::Work | At::Unknown => (None, Some(answer_awaited(slow))),
        };
        if look.is_over.load(Ordering::Relaxed) {
            return;
        }
        let mut kept = look
            .waits_for
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *kept = lock;
        drop(kept);
        if let Some(text) = says.filter(|text| *text != said) {
            say(&text);
            said = text;
        }
        let mut left = ASK_INTERVAL;
        while !left.is_zero() && !look.is_over.load(Ordering::Relaxed) {
            thread::sleep(LOOK_INTERVAL);
            left = left.saturating_sub(LOOK_INTERVAL);
        }
    }
}

/// Asks on the second connection, which is made when it is not there.
fn ask(session: &mut Option<Session>, slow: &Slow) -> At {
    if session.as_ref().is_none_or(Session::is_broken) {
        let mut way = slow.candidate.clone();
        way.connect_timeout = Some(ASK_LIMIT);
        *session = Session::connect(&[way], None).ok();
    }
    let Some(session) = session else {
        return At::Unknown;
    };
    session.set_answer_timeout(Some(ASK_LIMIT));
    let product = Product::ask(session).ok();
    let Some(query) = product.and_then(|product| product.dialect.waits_for) else {
        return At::Unknown;
    };
    match admin::value(
        session,
        &query.replace("{pid}", &slow.backend_pid.to_string()),
    ) {
        Ok(Some(lock)) => At::Lock(lock),
        Ok(None) => At::Work,
        Err(_) => At::Unknown,
    }
}
