//! Queues for a lock, made on purpose: who has it, the migration that asks for it, and what comes behind that.

use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pgdyno_session::{CancelHandle, Env, Given, Session, resolve};

/// The tables that the queues are about; an autovacuum of t's hundred pages takes ten seconds and more.
pub const SCHEMA: &str = "CREATE TABLE r (id int PRIMARY KEY); INSERT INTO r VALUES (1); \
    CREATE TABLE t (id int PRIMARY KEY, a int, r_id int) WITH (fillfactor = 10, autovacuum_vacuum_cost_delay = 100, \
    autovacuum_vacuum_cost_limit = 1); \
    INSERT INTO t SELECT g, 1, 1 FROM generate_series(1, 3000) g; \
    CREATE TABLE p (id int) PARTITION BY RANGE (id); CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10); ANALYZE";
/// What a holder's session calls itself.
pub const HOLDER: &str = "holder";
const WORKER: &str = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'autovacuum worker' \
    AND datname = current_database() AND query LIKE '%public.t%'";
const LIMIT: Duration = Duration::from_secs(120);

/// How a lock is held.
#[derive(Debug, Clone, Copy)]
pub enum Holding {
    /// By a session that did these and then waits, until it says the last one.
    Waiting(&'static [&'static str], &'static str),
    /// By the last of these statements, which goes on until it is cancelled.
    Busy(&'static [&'static str]),
    /// By an autovacuum, which the server begins after these statements.
    Autovacuum(&'static [&'static str]),
    /// By a reader on a synchronous standby, whose answer the commit waits for.
    OnStandby(&'static [&'static str]),
}

#[derive(Debug, Clone, Copy)]
pub struct LockQueue {
    pub name: &'static str,
    /// The migration.
    pub file: &'static str,
    pub holding: Holding,
    /// What comes behind it; empty: nothing waits for it.
    pub victim: &'static str,
    /// What is to be said of the holder.
    pub state: &'static str,
    pub on: &'static str,
    pub mode: &'static str,
}

const READER: LockQueue = LockQueue {
    name: "reader",
    file: "ALTER TABLE t ADD COLUMN k int",
    holding: Holding::Busy(&["SELECT count(*), pg_sleep(600) FROM t"]),
    victim: "SELECT * FROM t WHERE id = 1",
    state: "active",
    on: "t",
    mode: "ACCESS EXCLUSIVE",
};
const IDLE: &str = "idle in transaction";

pub const LOCK_QUEUES: [LockQueue; 13] = [
    READER,
    LockQueue {
        name: "idle in transaction",
        holding: Holding::Waiting(&["BEGIN", "SELECT * FROM t LIMIT 1"], "COMMIT"),
        state: IDLE,
        ..READER
    },
    LockQueue {
        name: "another DDL",
        file: "CREATE INDEX t_r ON t (r_id)",
        holding: Holding::Waiting(&["BEGIN", "ALTER TABLE t SET (fillfactor = 90)"], "COMMIT"),
        victim: "DELETE FROM t WHERE id = 5",
        state: IDLE,
        mode: "SHARE",
        ..READER
    },
    LockQueue {
        name: "prepared transaction",
        holding: Holding::Waiting(
            &[
                "BEGIN",
                "INSERT INTO t VALUES (3001, 1)",
                "PREPARE TRANSACTION 'gone'",
            ],
            "COMMIT PREPARED 'gone'",
        ),
        state: "prepared transaction",
        ..READER
    },
    LockQueue {
        name: "advisory lock",
        file: "SELECT pg_advisory_xact_lock(7); ALTER TABLE t ADD COLUMN k int",
        holding: Holding::Waiting(&["BEGIN", "SELECT pg_advisory_xact_lock(7)"], "COMMIT"),
        victim: "",
        state: IDLE,
        on: "advisory",
        mode: "EXCLUSIVE",
    },
    LockQueue {
        name: "foreign key to a busy table",
        file: "ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (r_id) REFERENCES r",
        holding: Holding::Waiting(&["BEGIN", "INSERT INTO r VALUES (2)"], "COMMIT"),
        victim: "UPDATE r SET id = id WHERE id = 1",
        state: IDLE,
        on: "r",
        mode: "SHARE ROW EXCLUSIVE",
    },
    // In no transaction.
    LockQueue {
        name: "old snapshot",
        file: "CREATE INDEX CONCURRENTLY t_c ON t (a)",
        holding: Holding::Waiting(
            &["BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT * FROM r"],
            "COMMIT",
        ),
        victim: "",
        state: IDLE,
        on: "virtualxid",
        mode: "SHARE",
    },
    LockQueue {
        name: "VACUUM",
        holding: Holding::Busy(&[
            "SET vacuum_cost_delay = 100",
            "SET vacuum_cost_limit = 1",
            "VACUUM t",
        ]),
        ..READER
    },
    LockQueue {
        name: "row lock",
        file: "BEGIN; UPDATE t SET a = 2 WHERE id = 2; UPDATE t SET a = 2 WHERE id = 1; COMMIT",
        holding: Holding::Waiting(&["BEGIN", "UPDATE t SET a = 3 WHERE id = 1"], "COMMIT"),
        victim: "UPDATE t SET a = 4 WHERE id = 2",
        state: IDLE,
        on: "transactionid",
        mode: "SHARE",
    },
    // It has its lock on the parent by then.
    LockQueue {
        name: "reader of a partition",
        file: "ALTER TABLE p DETACH PARTITION p1",
        holding: Holding::Waiting(&["BEGIN", "SELECT * FROM p1"], "COMMIT"),
        victim: "SELECT * FROM p WHERE id = 1",
        state: IDLE,
        on: "p1",
        ..READER
    },
    // Cancelled by the server after deadlock_timeout.
    LockQueue {
        name: "autovacuum",
        holding: Holding::Autovacuum(&[
            "ALTER TABLE t SET (autovacuum_vacuum_threshold = 1, autovacuum_vacuum_scale_factor = 0)",
            "UPDATE t SET a = 2",
        ]),
        ..READER
    },
    // Never cancelled. A hundred thousand transactions are the least that autovacuum_freeze_max_age allows.
    LockQueue {
        name: "autovacuum to prevent wraparound",
        holding: Holding::Autovacuum(&[
            "ALTER TABLE t SET (autovacuum_enabled = false)",
            "CREATE TABLE burnt (a int)",
            "DO $$ BEGIN FOR i IN 1..100100 LOOP BEGIN INSERT INTO burnt VALUES (1); \
             EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; END $$",
            "DROP TABLE burnt",
        ]),
        ..READER
    },
    LockQueue {
        name: "synchronous standby",
        holding: Holding::OnStandby(&["SELECT count(*), pg_sleep(600) FROM t"]),
        state: "standby",
        on: "its commit",
        mode: "synchronous_commit = remote_apply",
        ..READER
    },
];

/// A session with the server at this address.
///
/// # Panics
/// There is none.
pub fn session_at(url: &str) -> Session {
    let info = resolve(&Given::target(url), &Env::empty()).unwrap_or_else(|e| panic!("{e}"));
    let candidates = info.candidates().unwrap_or_else(|e| panic!("{e}"));
    Session::connect(&candidates.list, Some(LIMIT)).unwrap_or_else(|e| panic!("{url}: {e}"))
}

fn run(session: &mut Session, sql: &str) {
    if let Err(e) = session.simple_query(sql) {
        panic!("{sql}: {e}");
    }
}

/// Waits until a query of the session gives a row, and gives when it did.
///
/// # Panics
/// It never does.
pub fn wait_for_row(session: &mut Session, query: &str) -> Instant {
    let began = Instant::now();
    loop {
        let outcome = session.query(query);
        if !outcome
            .unwrap_or_else(|e| panic!("{query}: {e}"))
            .rows
            .is_empty()
        {
            return Instant::now();
        }
        assert!(began.elapsed() < LIMIT, "never came: {query}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// A lock that is held.
pub struct Held {
    session: Option<Session>,
    last: &'static str,
    busy: Option<(CancelHandle, JoinHandle<()>)>,
}

impl LockQueue {
    /// Has the lock held at this address, which has [`SCHEMA`]; `standby`: the address of its standby.
    ///
    /// # Panics
    /// A statement fails, or an autovacuum never comes.
    pub fn hold(&self, url: &str, standby: Option<&str>) -> Held {
        let mut held = Held {
            session: None,
            last: "",
            busy: None,
        };
        let mut session = session_at(url);
        run(&mut session, &format!("SET application_name = '{HOLDER}'"));
        match self.holding {
            Holding::Waiting(statements, last) => {
                statements.iter().for_each(|sql| run(&mut session, sql));
                (held.session, held.last) = (Some(session), last);
            }
            Holding::Busy(statements) => held.busy = Some(busy(session, statements, url)),
            Holding::Autovacuum(statements) => {
                statements.iter().for_each(|sql| run(&mut session, sql));
                wait_for_row(&mut session, WORKER);
                held.session = Some(session);
                held.last = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity \
                             WHERE backend_type = 'autovacuum worker' AND query LIKE '%public.t%'";
            }
            Holding::OnStandby(statements) => {
                let standby = standby.unwrap_or_else(|| panic!("{} needs a standby", self.name));
                let mut session = session_at(standby);
                run(&mut session, &format!("SET application_name = '{HOLDER}'"));
                held.busy = Some(busy(session, statements, standby));
            }
        }
        held
    }
}

/// Runs them on a thread of their own; the last one is running when this returns.
fn busy(
    mut session: Session,
    statements: &'static [&'static str],
    url: &str,
) -> (CancelHandle, JoinHandle<()>) {
    let is_running = format!(
        "SELECT 1 FROM pg_stat_activity WHERE pid = {} AND state = 'active' AND query = '{}'",
        session.backend_pid(),
        statements.last().unwrap_or(&"")
    );
    let cancel = session.cancel_handle();
    let thread = thread::spawn(move || {
        for sql in statements {
            // The last one is cancelled.
            let _ = session.simple_query(sql);
        }
    });
    wait_for_row(&mut session_at(url), &is_running);
    (cancel, thread)
}

impl Held {
    /// Gives it up.
    ///
    /// # Panics
    /// That fails.
    pub fn release(&mut self) {
        if let Some(mut session) = self.session.take() {
            run(&mut session, self.last);
        }
        if let Some((cancel, thread)) = self.busy.take() {
            cancel
                .cancel_within(LIMIT)
                .unwrap_or_else(|e| panic!("{e}"));
            assert!(thread.join().is_ok(), "the holder's statements");
        }
    }
}
