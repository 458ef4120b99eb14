//! What pgio prints, line by line, and the file that it writes for each session: for eyes and
//! scripts that know them.
//!
//! Not for: honest figures, which come after these lines (`report::accounting`).

use std::time::Duration;

use time::OffsetDateTime;

use super::conf::Conf;

/// Counters of `pg_stat_database` that pgio prints, in its order.
pub const COUNTERS: [&str; 5] = [
    "blks_hit",
    "blks_read",
    "tup_returned",
    "tup_fetched",
    "tup_updated",
];

/// Their values at one moment.
pub type PgioCounters = [u64; 5];

/// The lines before the sessions are launched.
pub fn head(conf: &Conf, shared_buffers: &str, now: OffsetDateTime) -> String {
    format!(
        "Date: {}\n\
         Database connect string: \"{}\". \n\
         Shared buffers: {shared_buffers}. \n\
         Testing {} schemas with {} thread(s) accessing {} ({} blocks) of each schema.\n\
         Running iostat, vmstat and mpstat on current host--in background.\n\
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
    [before, after]: [PgioCounters; 2],
    elapsed: Duration,
) -> String {
    let grown = |index: usize| {
        let counters: (&PgioCounters, &PgioCounters) = (&before, &after);
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
fn row(dbname: &str, counters: &PgioCounters) -> String {
    let mut line = format!(" {dbname:<7} ");
    for (name, value) in COUNTERS.iter().zip(counters) {
        line += &format!("| {value:>width$} ", width = name.len());
    }
    line.trim_end().to_owned()
}

/// What one session did: the row that pgio's function returns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SessionRow {
    pub pid: u64,
    pub iterations: u64,
    pub selects: u64,
    pub updates: u64,
    pub select_max: Duration,
    pub update_max: Duration,
    /// Rows that the SELECTs read.
    pub select_rows: u64,
    /// Rows that the UPDATEs changed.
    pub update_rows: u64,
}

impl SessionRow {
    const NAMES: [&str; 8] = [
        "mypid",
        "loop_iterations",
        "sql_selects",
        "sql_updates",
        "sql_select_max_tm",
        "sql_update_max_tm",
        "select_blk_touch_cnt",
        "update_blk_touch_cnt",
    ];

    fn values(&self) -> [String; 8] {
        // Seconds as pgio's numeric(12,8); its variable begins with 0.0.
        let seconds = |time: Duration| match time {
            Duration::ZERO => "0.0".to_owned(),
            time => format!("{:.8}", time.as_secs_f64()),
        };
        [
            self.pid.to_string(),
            self.iterations.to_string(),
            self.selects.to_string(),
            self.updates.to_string(),
            seconds(self.select_max),
            seconds(self.update_max),
            self.select_rows.to_string(),
            self.update_rows.to_string(),
        ]
    }

    pub fn text(&self) -> String {
        let columns = Self::NAMES.map(|name| (name, Align::Right));
        aligned(&columns, &[self.values().to_vec()])
    }
}

/// A session's file: the notice of pgio's function, which there is for a mix only, and its row.
pub fn session(conf: &Conf, table: u64, row: &SessionRow) -> String {
    let notice = match conf.update_percent {
        0 | 100 => String::new(),
        percent => format!(
            "NOTICE:  I am PID \"{}\" : My table is \"{}{table}\" : UPDATE_PCT \"{percent}\" : RUN \
             TIME SECONDS \"{}\"\n",
            row.pid,
            super::PREFIX,
            conf.run_time.as_secs(),
        ),
    };
    notice + &row.text()
}

/// What `pgio_session_detail.out` has: one head, and the row of each session.
pub fn session_detail(rows: &[SessionRow]) -> String {
    let names = SessionRow::NAMES.join(" | ");
    let lines = SessionRow::NAMES
        .map(|name| "-".repeat(name.len() + 2))
        .join("+");
    let mut text = format!("\n {names}\n{lines}\n\n");
    for row in rows {
        let table = row.text();
        text += table.lines().nth(2).unwrap_or_default();
        text.push('\n');
    }
    text
}

/// The side on which psql puts a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// A result as psql shows it, with the number of rows and an empty line.
pub fn aligned(columns: &[(&str, Align)], rows: &[Vec<String>]) -> String {
    let s = if rows.len() == 1 { "" } else { "s" };
    format!("{}({} row{s})\n\n", grid(columns, rows).1, rows.len())
}

/// A table as psql's `\d` shows it: its title in the middle, no number of rows.
pub fn described(title: &str, columns: &[&str], rows: &[Vec<String>]) -> String {
    let columns: Vec<(&str, Align)> = columns.iter().map(|name| (*name, Align::Left)).collect();
    let (width, grid) = grid(&columns, rows);
    let before = " ".repeat(width.saturating_sub(title.chars().count()) / 2);
    format!("{before}{title}\n{grid}\n")
}

/// The head and the rows, and how wide the head is.
fn grid(columns: &[(&str, Align)], rows: &[Vec<String>]) -> (usize, String) {
    let widths: Vec<usize> = (columns.iter().enumerate())
        .map(|(at, (name, _))| {
            let values = rows.iter().filter_map(|row| row.get(at));
            let widest = values.map(|value| value.chars().count()).max();
            name.len().max(widest.unwrap_or(0))
        })
        .collect();
    let names = columns.iter().zip(&widths);
    let names: Vec<String> = names
        .map(|((name, _), w)| format!(" {name:^w$} "))
        .collect();
    let lines: Vec<String> = widths.iter().map(|w| "-".repeat(w + 2)).collect();
    let head = names.join("|");
    let width = head.chars().count();
    let mut text = format!("{head}\n{}\n", lines.join("+"));
    for row in rows {
        let cells = row.iter().zip(columns).zip(&widths).enumerate();
        let cells: Vec<String> = cells
            .map(|(at, ((value, (_, align)), w))| match align {
                // Nothing is filled up at the end of a line.
                Align::Left if at + 1 == columns.len() => format!(" {value}"),
                Align::Right if at + 1 == columns.len() => format!(" {value:>w$}"),
                Align::Left => format!(" {value:<w$} "),
                Align::Right => format!(" {value:>w$} "),
            })
            .collect();
        text += &cells.join("|");
        text.push('\n');
    }
    (width, text)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn conf() -> Conf {
        let text = "NUM_THREADS=1 SCALE=256M RUN_TIME=10";
        Conf::read("c", text, &|_| None).unwrap().0
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
             Running iostat, vmstat and mpstat on current host--in background.\n\
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
        let text = "\x20mypid | loop_iterations | sql_selects | sql_updates | sql_select_max_tm | sql_update_max_tm | select_blk_touch_cnt | update_blk_touch_cnt \n\
-------+-----------------+-------------+-------------+-------------------+-------------------+----------------------+----------------------\n  \
4711 |           56493 |       56493 |           0 |        0.08950000 |               0.0 |             56493000 |                    0\n\
(1 row)\n\n";
        assert_eq!(row.text(), text);
        assert_eq!(session(&conf(), 2, &row), text);
        let mixed = Conf {
            update_percent: 20,
            ..conf()
        };
        assert_eq!(
            session(&mixed, 2, &row),
            format!(
                "NOTICE:  I am PID \"4711\" : My table is \"pgio2\" : UPDATE_PCT \"20\" : RUN TIME \
                 SECONDS \"10\"\n{text}"
            )
        );
        let detail = session_detail(&[row, SessionRow { pid: 7, ..row }]);
        let lines: Vec<&str> = detail.lines().collect();
        assert_eq!(lines[..2], ["", text.lines().next().unwrap().trim_end()]);
        assert_eq!(lines[2], text.lines().nth(1).unwrap());
        assert_eq!(lines[3..5], ["", text.lines().nth(2).unwrap()]);
        assert!(lines[5].starts_with("     7 |"), "{detail}");
        assert_eq!(lines.len(), 6);
    }

    #[test]
    fn a_result_is_laid_out_as_psql_does() {
        let columns = [("name", Align::Left), ("n", Align::Right)];
        let rows = [
            vec!["a".to_owned(), "10".to_owned()],
            vec!["bcdef".to_owned(), "1".to_owned()],
        ];
        assert_eq!(
            aligned(&columns, &rows),
            " name  | n  \n-------+----\n a     | 10\n bcdef |  1\n(2 rows)\n\n"
        );
    }

    #[test]
    fn a_table_is_described_as_psql_does() {
        let rows = [
            ["mykey", "bigint", "", "", ""],
            ["filler", "character(1024)", "", "", ""],
        ];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        let heads = ["Column", "Type", "Collation", "Nullable", "Default"];
        let mut lines = described("Table \"public.pgio_base\"", &heads, &rows);
        // As psql 18 prints it for a table of pgio's.
        for line in [
            "                 Table \"public.pgio_base\"\n",
            " Column |      Type       | Collation | Nullable | Default \n",
            "--------+-----------------+-----------+----------+---------\n",
            " mykey  | bigint          |           |          | \n",
            " filler | character(1024) |           |          | \n",
            "\n",
        ] {
            let rest = lines.strip_prefix(line);
            lines = rest
                .unwrap_or_else(|| panic!("{line:?}: {lines:?}"))
                .to_owned();
        }
        assert_eq!(lines, "");
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
