//! What pgio prints, line by line, and the file that it writes for each session: for eyes and
//! scripts that know them.
//!
//! Not for: honest figures, which come after these lines (`report::storage`).

use std::time::Duration;

use time::OffsetDateTime;

use super::conf::Conf;
use pgdyno_model::Failure;

/// Counters of `pg_stat_database` that pgio prints, in its order.
pub const COUNTERS: [&str; 5] = [
    "blks_hit",
    "blks_read",
    "tup_returned",
    "tup_fetched",
    "tup_updated",
];

/// Their values at one moment.
pub type Counters = [u64; 5];

/// The lines before the sessions are launched.
pub fn head(conf: &Conf, shared_buffers: &str, now: OffsetDateTime) -> String {
    format!(
        "Date: {}\n\
         Database connect string: \"{}\". \n\
         Shared buffers: {shared_buffers}. \n\
         Testing {} schemas with {} thread(s) accessing {} ({} blocks) of each schema.\n\
         Launching sessions. {} schema(s) will be accessed by {} thread(s) each.\n",
        date(now),
        without_password(&conf.connect_string),
        conf.tables,
        conf.threads,
        conf.scale.text,
        conf.scale.blocks,
        conf.tables,
        conf.threads,
    )
}

/// As date(1) prints it where the language is C.
fn date(now: OffsetDateTime) -> String {
    let now = now.to_offset(time::UtcOffset::UTC);
    let (weekday, month) = (now.weekday().to_string(), now.month().to_string());
    let (hour, minute, second) = now.to_hms();
    format!(
        "{} {} {:>2} {hour:02}:{minute:02}:{second:02} UTC {}",
        &weekday[..3],
        &month[..3],
        now.day(),
        now.year()
    )
}

/// The counters before and after, and the rates that pgio makes of them. Its clock starts after
/// the counters are read and theirs does not; here both begin when all sessions stand.
pub fn tail(
    conf: &Conf,
    dbname: &str,
    [before, after]: [Counters; 2],
    elapsed: Duration,
) -> String {
    let grown = |index: usize| {
        let counters: (&Counters, &Counters) = (&before, &after);
        counters.1[index].saturating_sub(counters.0[index])
    };
    let rate = |index| (grown(index) as f64 / elapsed.as_secs_f64().max(1e-3)) as u64;
    format!(
        "pg_stat_database stats:\n          datname| {}\nBEFORE: {}\nAFTER:  {}\n\
         DBNAME:  {dbname}. {} schemas, {} threads(each). Run time: {} seconds. \
         RIOPS >{}< CACHE_HITS/s >{}<\n",
        COUNTERS.join("|").replacen("blks_read", " blks_read", 1),
        row(dbname, &before),
        row(dbname, &after),
        conf.tables,
        conf.threads,
        conf.run_time.as_secs(),
        rate(1),
        rate(0),
    )
}

/// A row as psql shows it, each column as wide as its name at least.
fn row(dbname: &str, counters: &Counters) -> String {
    let mut line = format!(" {dbname:<7} ");
    for (name, value) in COUNTERS.iter().zip(counters) {
        line += &format!("| {value:>width$} ", width = name.len());
    }
    line.trim_end().to_owned()
}

/// What one session did: the row that pgio's function returns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SessionRow {
    /// The server's process.
    pub pid: u64,
    /// Statements.
    pub iterations: u64,
    /// SELECTs of it.
    pub selects: u64,
    /// UPDATEs of it.
    pub updates: u64,
    /// The longest SELECT.
    pub select_max: Duration,
    /// The longest UPDATE.
    pub update_max: Duration,
    /// Rows that the SELECTs read.
    pub select_rows: u64,
    /// Rows that the UPDATEs changed.
    pub update_rows: u64,
}

impl SessionRow {
    /// As psql shows it.
    pub fn text(&self) -> String {
        // An interval as PostgreSQL writes it.
        let interval = |time: Duration| {
            let (s, us) = (time.as_secs(), time.subsec_micros());
            let clock = format!("{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
            match us {
                0 => clock,
                us => format!("{clock}.{}", format!("{us:06}").trim_end_matches('0')),
            }
        };
        let columns = [
            ("pid", self.pid.to_string()),
            ("loop_iterations", self.iterations.to_string()),
            ("sql_selects", self.selects.to_string()),
            ("sql_updates", self.updates.to_string()),
            ("sql_select_max_tm", interval(self.select_max)),
            ("sql_update_max_tm", interval(self.update_max)),
            ("select_blk_touch_cnt", self.select_rows.to_string()),
            ("update_blk_touch_cnt", self.update_rows.to_string()),
        ];
        let width = |(name, value): &(&str, String)| name.len().max(value.len());
        let names = columns
            .iter()
            .map(|c| format!(" {:^w$} ", c.0, w = width(c)));
        let lines = columns.iter().map(|c| "-".repeat(width(c) + 2));
        let values = columns
            .iter()
            .map(|c| format!(" {:>w$} ", c.1, w = width(c)));
        let joined = |cells: Vec<String>, between: &str| cells.join(between).trim_end().to_owned();
        format!(
            "{}\n{}\n{}\n(1 row)\n\n",
            joined(names.collect(), "|"),
            joined(lines.collect(), "+"),
            joined(values.collect(), "|")
        )
    }
}

/// The name of the file for a session of a table, both from 1.
pub fn session_file(table: u64, session: u64) -> String {
    format!(".pgio_schema_{table}_{session}.out")
}

/// A connection string that can be shown.
pub fn without_password(text: &str) -> String {
    let mut shown = text.to_owned();
    // scheme://user:password@host; whatever a password has in it, it ends before the last @.
    if let Some(start) = shown.find("://").map(|at| at + 3)
        && let Some(at) = shown[start..].rfind('@').map(|at| start + at)
        && let Some(colon) = shown[start..at].find(':').map(|colon| start + colon)
    {
        shown.replace_range(colon + 1..at, "***");
    }
    // password=…, as a key or a URL's parameter; also sslpassword.
    let mut from = 0;
    while let Some(at) = shown[from..].find("password").map(|at| from + at) {
        let rest = &shown[at + "password".len()..];
        let value = rest.trim_start();
        let Some(value) = value.strip_prefix('=').map(str::trim_start) else {
            from = at + "password".len();
            continue;
        };
        let start = shown.len() - value.len();
        let end = start + value_length(value);
        shown.replace_range(start..end, "***");
        from = start + "***".len();
    }
    shown
}

/// How long a `key=value` pair's value is: quoted, or up to a blank or `&`.
fn value_length(value: &str) -> usize {
    let quoted = value.starts_with('\'');
    let mut escaped = false;
    for (at, c) in value.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\'' if quoted && at > 0 => return at + 1,
            c if !quoted && (c.is_whitespace() || c == '&') => return at,
            _ => {}
        }
    }
    value.len()
}

/// Writes a session's file.
///
/// # Errors
/// It cannot be written.
pub fn write_session(
    folder: &std::path::Path,
    (table, session): (u64, u64),
    row: &SessionRow,
) -> Result<(), Failure> {
    let path = folder.join(session_file(table, session));
    std::fs::write(&path, row.text())
        .map_err(|e| Failure::new(format!("could not write {}: {e}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conf() -> Conf {
        let text = "NUM_THREADS=1 SCALE=256M RUN_TIME=10";
        Conf::read("c", text).unwrap().0
    }

    #[test]
    fn the_lines_are_pgios() {
        let now = OffsetDateTime::from_unix_timestamp(1_627_689_600).unwrap();
        let head = head(&conf(), "64MB", now);
        assert_eq!(
            head,
            "Date: Sat Jul 31 00:00:00 UTC 2021\n\
             Database connect string: \"pg10\". \n\
             Shared buffers: 64MB. \n\
             Testing 4 schemas with 1 thread(s) accessing 256M (32768 blocks) of each schema.\n\
             Launching sessions. 4 schema(s) will be accessed by 1 thread(s) each.\n"
        );
        let before = [703_928, 187_930, 175_965, 9375, 18];
        let after = [852_128, 2_151_561, 2_261_634, 2_095_039, 18];
        let tail = tail(&conf(), "pg10", [before, after], Duration::from_secs(10));
        assert_eq!(
            tail,
            "pg_stat_database stats:
          datname| blks_hit| blks_read|tup_returned|tup_fetched|tup_updated
BEFORE:  pg10    |   703928 |    187930 |       175965 |        9375 |          18
AFTER:   pg10    |   852128 |   2151561 |      2261634 |     2095039 |          18
DBNAME:  pg10. 4 schemas, 1 threads(each). Run time: 10 seconds. RIOPS >196363< CACHE_HITS/s >14820<
"
        );
    }

    #[test]
    fn a_sessions_file_has_the_row_of_pgios_function() {
        let row = SessionRow {
            pid: 4711,
            iterations: 56_493,
            selects: 56_493,
            updates: 0,
            select_max: Duration::from_micros(89_500),
            update_max: Duration::ZERO,
            select_rows: 56_493_000,
            update_rows: 0,
        };
        let text = row.text();
        let lines: Vec<&str> = text.lines().collect();
        let cells = |line: &str| -> Vec<String> {
            line.split('|').map(|cell| cell.trim().to_owned()).collect()
        };
        assert_eq!(cells(lines[0])[1], "loop_iterations");
        assert_eq!(
            cells(lines[2]),
            [
                "4711",
                "56493",
                "56493",
                "0",
                "00:00:00.0895",
                "00:00:00",
                "56493000",
                "0"
            ]
        );
        assert_eq!(lines[3], "(1 row)");
        let dir = tempfile::tempdir().unwrap();
        write_session(dir.path(), (1, 2), &row).unwrap();
        let file = dir.path().join(".pgio_schema_1_2.out");
        assert_eq!(std::fs::read_to_string(file).unwrap(), text);
        let error = write_session(&dir.path().join("none"), (1, 1), &row).unwrap_err();
        assert!(error.message.contains(".pgio_schema_1_1.out"), "{error}");
    }

    #[test]
    fn passwords_are_not_printed() {
        for (text, want) in [
            ("pg10", "pg10"),
            (
                "postgres://yb:s3:c/r@et@h:5433/yb",
                "postgres://yb:***@h:5433/yb",
            ),
            (
                "postgres://yb:secret@h:5433/yb",
                "postgres://yb:***@h:5433/yb",
            ),
            (
                "postgres://yb@h/d?password=x&a=1",
                "postgres://yb@h/d?password=***&a=1",
            ),
            (
                "host=h password = 'a\\'b c' user=u",
                "host=h password = *** user=u",
            ),
            ("host=h password=x", "host=h password=***"),
            ("dbname=password", "dbname=password"),
        ] {
            assert_eq!(without_password(text), want);
        }
    }
}
