//! How long a session waits: limits, what is reported meanwhile, and that the server is left with nothing
//! to do. Signals are tested where there is a process to send them to (`pgdyno/tests/all/cli/waiting.rs`).

use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use crate::common::{Server, Setup, shared};
use pgdyno_session::{Error, Patience, Session, Slow, Watcher, Watching};

static SERVER: Mutex<Weak<Server>> = Mutex::new(Weak::new());

fn server() -> Arc<Server> {
    let setup = Setup {
        tls: true,
        ..Setup::default()
    };
    shared(&SERVER, setup)
}

fn silence(limit_ms: u64) -> Patience {
    Patience {
        silence_limit: Some(Duration::from_millis(limit_ms)),
        ..Patience::default()
    }
}

#[test]
fn a_query_that_stays_without_an_answer_is_cancelled_on_the_server() {
    let server = server();
    for options in [
        "user=postgres",
        "host=127.0.0.1 user=postgres sslmode=require",
        "host=127.0.0.1 user=postgres sslmode=prefer",
    ] {
        let mut session = server.try_connect(options).unwrap();
        session.set_patience(silence(300));
        let pid = session.backend_pid();
        let began = Instant::now();
        let error = session.query("SELECT\n  pg_sleep(600)").unwrap_err();
        assert!(matches!(error, Error::Silent { .. }), "{error:?}");
        assert_eq!(
            error.to_string(),
            "the server has sent nothing for 0.3 s in answer to: SELECT pg_sleep(600)"
        );
        assert!(began.elapsed() < Duration::from_secs(5));
        assert!(session.is_broken());
        let mut admin = server.admin();
        let left =
            format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {pid} AND state = 'active'");
        let began = Instant::now();
        while admin.query_one_value(&left).unwrap().as_deref() != Some("0") {
            assert!(began.elapsed() < Duration::from_secs(10), "{options}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn work_and_what_is_unhurried_may_take_its_time() {
    let server = server();
    let mut session = server.admin();
    session.set_patience(silence(100));
    session
        .execute("DO $$ BEGIN PERFORM pg_sleep(0.4); END $$")
        .unwrap();
    session.unhurried().query("SELECT pg_sleep(0.4)").unwrap();
    let mut copy = {
        session.execute("CREATE TEMP TABLE c (a int)").unwrap();
        session.copy_in("COPY c FROM STDIN").unwrap()
    };
    std::thread::sleep(Duration::from_millis(300));
    copy.write(b"1\n").unwrap();
    assert_eq!(copy.finish().unwrap(), 1);
    // Only the next one was.
    let error = session.query("SELECT pg_sleep(5)").unwrap_err();
    assert!(matches!(error, Error::Silent { .. }), "{error:?}");
}

/// Keeps what it receives.
#[derive(Default)]
struct Seen(Mutex<Vec<(i32, String, bool)>>);

struct Look(Arc<Mutex<u32>>);

struct SeenBy(Arc<Seen>, Arc<Mutex<u32>>);

impl Watcher for SeenBy {
    fn watch(&self, slow: Slow) -> Box<dyn Watching> {
        let reported = (slow.backend_pid, slow.statement, slow.is_work);
        self.0.0.lock().unwrap().push(reported);
        Box::new(Look(self.1.clone()))
    }
}

impl Watching for Look {
    fn waits_for(&self) -> Option<String> {
        Some("waiting for the moon".to_owned())
    }
}

impl Drop for Look {
    fn drop(&mut self) {
        *self.0.lock().unwrap() += 1;
    }
}

#[test]
fn a_statement_that_takes_long_is_looked_at_until_it_ends() {
    let server = server();
    let (seen, ended) = (Arc::<Seen>::default(), Arc::<Mutex<u32>>::default());
    let mut session = server.admin();
    session.set_patience(Patience {
        silence_limit: Some(Duration::from_secs(3)),
        watcher: Some(Arc::new(SeenBy(seen.clone(), ended.clone()))),
        ..Patience::default()
    });
    session.query("SELECT pg_sleep(1)").unwrap();
    assert_eq!(seen.0.lock().unwrap().len(), 0);
    session.query("SELECT pg_sleep(2.4)").unwrap();
    let pid = session.backend_pid();
    let reported = |sql: &str, is_work| (pid, sql.to_owned(), is_work);
    assert_eq!(
        *seen.0.lock().unwrap(),
        [reported("SELECT pg_sleep(2.4)", false)]
    );
    assert_eq!(*ended.lock().unwrap(), 1);
    // What it waited for is in the error.
    let error = session.query("SELECT pg_sleep(30)").unwrap_err();
    assert!(
        error.to_string().ends_with(" (waiting for the moon)"),
        "{error}"
    );
    assert_eq!(*ended.lock().unwrap(), 2);
}

#[test]
fn work_is_given_up_when_the_server_answers_no_new_connection_either() {
    use pgdyno_testkit::{Passes, StallingProxy};
    let server = pgdyno_testkit::postgres().address().socket_path();
    let proxy = StallingProxy::start(&server, Passes::All);
    let given = pgdyno_session::Given::target(proxy.url());
    let info = pgdyno_session::resolve(&given, &pgdyno_session::Env::empty()).unwrap();
    let candidates = info.candidates().unwrap().list;
    let connect = || {
        let patience = Patience {
            hang_limit: Some(Duration::from_millis(300)),
            ..Patience::default()
        };
        Session::connect_with(&candidates, None, patience).unwrap()
    };
    // A server that answers others may take its time.
    connect()
        .execute("DO $$ BEGIN PERFORM pg_sleep(1) ; END $$")
        .unwrap();
    let mut session = connect();
    proxy.pass(Passes::Nothing);
    let began = Instant::now();
    let error = session.execute("VACUUM pg_class").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server has sent nothing for 0.3 s in answer to: VACUUM pg_class (it answers no new \
         connection either)"
    );
    assert!(began.elapsed() < Duration::from_secs(10));
    assert!(session.is_broken());
}
