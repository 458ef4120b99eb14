//! How a server is: what must be the same after a disturbance.

use std::fs;
use std::time::{Duration, Instant};

use pgdyno_platform::child;
use pgdyno_session::Session;

use super::Place;
use crate::support::{connect, rows};

/// Settings, objects and files; a row a line.
pub const SNAPSHOT: &str = "\
    SELECT 'setting ' || name || ' ' || setting FROM pg_settings WHERE name NOT LIKE 'transaction%' \
    UNION ALL SELECT 'ALTER SYSTEM ' || name || ' ' || coalesce(setting, '') FROM pg_file_settings \
        WHERE sourcefile LIKE '%postgresql.auto.conf' \
    UNION ALL SELECT 'ALTER ROLE or DATABASE ' || array_to_string(setconfig, ' ') FROM pg_db_role_setting \
    UNION ALL SELECT 'role ' || rolname FROM pg_roles \
    UNION ALL SELECT 'database ' || datname FROM pg_database \
    UNION ALL SELECT 'tablespace ' || spcname FROM pg_tablespace \
    UNION ALL SELECT 'extension ' || extname FROM pg_extension \
    UNION ALL SELECT 'slot ' || slot_name FROM pg_replication_slots \
    UNION ALL SELECT 'publication ' || pubname FROM pg_publication \
    UNION ALL SELECT 'prepared transaction ' || gid FROM pg_prepared_xacts \
    UNION ALL SELECT 'temporary file ' || name FROM pg_ls_tmpdir() \
    UNION ALL SELECT 'function ' || oid::regprocedure FROM pg_proc WHERE pronamespace = 'public'::regnamespace \
    UNION ALL SELECT 'trigger ' || tgname FROM pg_trigger \
    UNION ALL SELECT 'constraint ' || conname || ' ' || convalidated FROM pg_constraint WHERE conrelid <> 0 \
    UNION ALL SELECT 'relation ' || relnamespace::regnamespace || '.' || relname || ' ' || relkind::text || ' ' \
        || relpersistence::text || ' ' || coalesce(array_to_string(reloptions, ' '), '') FROM pg_class \
        WHERE relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace, \
            'pg_toast'::regnamespace) AND relname NOT LIKE 'pgdyno_receipts%' \
    UNION ALL SELECT 'column ' || attrelid::regclass || ' ' || attname || ' ' || format_type(atttypid, atttypmod) \
        || ' ' || attnotnull FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid \
        WHERE relnamespace = 'public'::regnamespace AND attnum > 0 AND relname NOT LIKE 'pgdyno_receipts%' \
    UNION ALL SELECT 'index ' || indexrelid::regclass || ' ' || indisvalid || ' ' || indisready FROM pg_index \
        JOIN pg_class ON pg_class.oid = indrelid WHERE relnamespace = 'public'::regnamespace \
        AND relname NOT LIKE 'pgdyno_receipts%' \
    UNION ALL SELECT DISTINCT 'statistics of ' || starelid::regclass || ' ' || staattnum FROM pg_statistic JOIN pg_class \
        ON pg_class.oid = starelid WHERE relnamespace = 'public'::regnamespace AND relname LIKE 'pgbench_a%' \
    ORDER BY 1";
/// Sessions and locks of others; they end a moment after their client.
const OTHERS: &str = "\
    SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_type IN ('client backend', 'walsender') \
        AND pid <> pg_backend_pid()) \
    + (SELECT count(*) FROM pg_locks WHERE pid <> pg_backend_pid())";
/// What ends by itself has ended by then.
const LIMIT: Duration = Duration::from_secs(60);

/// The state of a server's processes: one that is stopped, and the groups of its first one.
pub fn processes(first: u32) -> Vec<String> {
    let mut all = child::children(first).unwrap_or_default();
    all.push(first);
    let stopped = all.into_iter().filter(|pid| is_stopped(*pid));
    let mut lines: Vec<String> = stopped.map(|pid| format!("stopped {pid}")).collect();
    lines.extend(fs::read_to_string(format!("/proc/{first}/cgroup")));
    lines
}

/// Whether a process has got SIGSTOP.
pub fn is_stopped(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.contains(") T ")
}

/// Processes that were started with this text in their environment.
pub fn started_with(text: &str) -> Vec<String> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let has = |process: &fs::DirEntry| {
        let environment = fs::read(process.path().join("environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(text)
    };
    let named = all.filter(has).map(|process| {
        let command = fs::read(process.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).replace('\0', " ")
    });
    named.collect()
}

/// Waits until there is none.
#[track_caller]
pub fn until_none(what: &str, mut there: impl FnMut() -> Vec<String>) {
    let end = Instant::now() + LIMIT;
    loop {
        let still = there();
        if still.is_empty() {
            return;
        }
        assert!(Instant::now() < end, "{what} stay: {still:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

impl Place {
    /// What must be the same afterwards. Of pgdyno nothing is left: no session, no lock, no process, no journal.
    #[track_caller]
    pub fn snapshot(&self) -> Vec<String> {
        let folder = self.notebook.beside("");
        until_none("processes", || started_with(folder.to_str().unwrap()));
        let mut session: Session = connect(&self.url);
        until_none("sessions or locks", || {
            let mut others = rows(&mut session, OTHERS);
            others.retain(|count| count != "0");
            others
        });
        let journals = fs::read_dir(self.cache().join("settings"));
        let journals = journals.into_iter().flatten().flatten();
        let journals: Vec<_> = journals.map(|file| file.file_name()).collect();
        assert!(journals.is_empty(), "journals are left: {journals:?}");
        let mut all = rows(&mut session, SNAPSHOT);
        all.extend(processes(self.server.pid()));
        all
    }
}
