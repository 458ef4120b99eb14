//! `pgbench -i`: drops, creates and fills the standard tables, step by step, with pgbench's
//! statements and texts (its `runInitSteps`). It drops whatever bears its tables' names, as pgbench
//! does; the packs' loader, which protects what it did not make, is `workload/loader.rs`.
//!
//! It differs from pgbench in two ways, where pgbench would do harm: after an interrupt no further
//! statement is sent (pgbench can commit a table with one row), and a copy that the server has
//! refused is not sent to its end.

mod progress;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::ops::Range;
use std::time::{Duration, Instant};

use pgdyno_platform::interrupt::Interrupts;
use pgdyno_platform::terminal;
use pgdyno_session::{Error, Patience, Session};

use pgdyno_database::dialect::{Filling, Product};
use pgdyno_model::pooler;
use pgdyno_spec::{Exit, Failure};
use pgdyno_wire::backend::TransactionStatus;
use pgdyno_workload::foreign_keys;
use pgdyno_workload::pgbench_tables::{Fill, Schema};
use pgdyno_workload::stop::Stop;

use crate::connect;
use crate::messages::theirs;
pub use pgdyno_workload::pgbench_tables::{PartitionMethod, Tables};
use progress::Progress;

/// Rows made between two looks at the clock and at interrupts, about 64 KiB. It divides the
/// 100,000 rows at which a progress line is due, and is a multiple of the 100 at which one may be.
const CHUNK_ROWS: u64 = 4_000;

/// How long after an interrupt rows are still sent: the server ends a copy for a cancel request
/// only when it sees a row.
const CANCEL_LIMIT: Duration = Duration::from_secs(2);

/// What a shell sees of a process that SIGTERM ended.
const TERMINATED: u8 = 143;

const RELKIND: &str = "SELECT relkind FROM pg_catalog.pg_class WHERE oid=$1::pg_catalog.regclass";

/// What `-i` and its options ask for.
#[derive(Debug, Clone)]
pub struct InitOptions {
    /// Steps in their order: characters of `dtgGvpf`; blanks mean nothing.
    pub steps: String,
    pub scale: u32,
    pub fillfactor: u32,
    /// Partitions of the accounts table; 0: it is not partitioned.
    pub partitions: u32,
    /// How it is partitioned; none: by range.
    pub partition_method: Option<PartitionMethod>,
    pub tablespace: Option<String>,
    /// Where the indexes of the primary keys lie.
    pub index_tablespace: Option<String>,
    pub unlogged: bool,
    /// A progress line every five seconds instead of every 100,000 rows.
    pub quiet: bool,
    pub tables: Tables,
}

impl InitOptions {
    fn schema(&self, product: &Product) -> Schema<'_> {
        let method = self.partition_method.unwrap_or(PartitionMethod::Range);
        Schema {
            tables: self.tables,
            dialect: product.dialect,
            version: product.version,
            scale: self.scale,
            fillfactor: self.fillfactor,
            partitioning: (self.partitions > 0).then_some((method, self.partitions)),
            tablespace: self.tablespace.as_deref(),
            index_tablespace: self.index_tablespace.as_deref(),
            unlogged: self.unlogged,
        }
    }
}

/// Takes the steps on `session`, and says on standard error what pgbench says.
///
/// # Errors
/// The first statement that fails, in pgbench's words and with its exit code, ends it: what was
/// committed before stays, as with pgbench. So does an interrupt.
pub fn run(
    session: &mut Session,
    options: &InitOptions,
    interrupts: &'static Interrupts,
) -> Result<(), Failure> {
    let screen = InitScreen {
        out: &mut io::stderr(),
        terminal: terminal::stderr_is_terminal(),
    };
    run_on(session, options, Some(interrupts), screen)
}

fn run_on(
    session: &mut Session,
    options: &InitOptions,
    interrupts: Option<&'static Interrupts>,
    screen: InitScreen<'_>,
) -> Result<(), Failure> {
    // Nothing is asked that pgbench does not ask.
    let product = Product::presumed(session);
    let schema = options.schema(&product);
    if let Some((option, why)) = schema.refusals().first() {
        return Err(Failure::new(format!(
            "{option} is not for {}: {why}",
            product.title()
        )));
    }
    let stop = Stop::new(interrupts);
    session.set_patience(Patience {
        interrupts,
        on_cancel: Some(|sent| match sent {
            Ok(()) => pgdyno_output::remark!("Cancel request sent"),
            Err(error) => pgdyno_output::remark!("Could not send cancel request: {error}"),
        }),
        ..connect::patience()
    });
    let done = Init {
        session,
        options,
        product: &product,
        schema,
        screen,
        stop,
    }
    .steps();
    done.map_err(|failure| match stop.exit_code() {
        None => explained(failure, session),
        Some(TERMINATED) => Failure {
            exit: Exit::Interrupted(TERMINATED),
            ..failure
        },
        // Ctrl-C is answered as pgbench answers it, with an error.
        _ => failure,
    })
}

/// What the server lacks and the way out, where it is not PostgreSQL. It is asked only now, because pgbench asks nothing.
fn explained(failure: Failure, session: &mut Session) -> Failure {
    if session.is_broken() {
        return failure;
    }
    if session.transaction_status() != TransactionStatus::Idle {
        let _ = session.simple_query("rollback");
    }
    let lacks = Product::ask(session)
        .ok()
        .and_then(|product| product.lacks_for("pgbench's tables need"));
    let Some(lacks) = lacks else {
        return failure;
    };
    let answer = failure.message.lines().next().unwrap_or_default();
    Failure::new(lacks)
        .detail(answer)
        .hint("run scripts of your own: pgdyno pgbench -n -f my.sql")
}

struct InitScreen<'a> {
    out: &'a mut dyn Write,
    terminal: bool,
}

impl InitScreen<'_> {
    fn print(&mut self, text: &str) {
        // A closed output is no error.
        let _ = self.out.write_all(text.as_bytes());
    }

    fn line(&mut self, text: &str) {
        self.print(&format!("{text}\n"));
    }
}

struct Init<'s, 'o, 'p> {
    session: &'s mut Session,
    options: &'o InitOptions,
    product: &'o Product,
    schema: Schema<'o>,
    screen: InitScreen<'p>,
    stop: Stop,
}

impl Init<'_, '_, '_> {
    fn steps(mut self) -> Result<(), Failure> {
        self.print_notices();
        let mut total_s = 0.0;
        let mut times = Vec::new();
        for step in self.options.steps.chars() {
            let began = Instant::now();
            if let Some(name) = self.step(step)? {
                let elapsed_s = began.elapsed().as_secs_f64();
                total_s += elapsed_s;
                times.push(format!("{name} {elapsed_s:.2} s"));
            }
        }
        self.screen
            .line(&format!("done in {total_s:.2} s ({}).", times.join(", ")));
        Ok(())
    }

    /// Takes one step; its name in the final line, none when there was nothing to do.
    fn step(&mut self, step: char) -> Result<Option<&'static str>, Failure> {
        let name = match step {
            'd' => {
                self.screen.line("dropping old tables...");
                self.execute(&self.schema.drop_tables())?;
                "drop tables"
            }
            't' => {
                self.create_tables()?;
                "create tables"
            }
            'g' => {
                self.screen.line("generating data (client-side)...");
                self.generate()?;
                "client-side generate"
            }
            'G' => {
                self.screen.line("generating data (server-side)...");
                self.generate_on_server()?;
                "server-side generate"
            }
            'v' => {
                self.screen.line("vacuuming...");
                self.execute_all(self.schema.vacuum())?;
                "vacuum"
            }
            // CREATE TABLE has declared them.
            'p' if self.options.tables.keys_in_create => return Ok(None),
            'p' if self.schema.has_keys_in_create() => {
                self.leave_out("creating primary keys", "they come with the tables");
                return Ok(None);
            }
            'p' => {
                self.screen.line("creating primary keys...");
                self.execute_all(self.schema.primary_keys())?;
                "primary keys"
            }
            'f' => {
                self.screen.line("creating foreign keys...");
                self.execute_all(self.schema.foreign_keys())?;
                self.tell_unvalidated();
                "foreign keys"
            }
            ' ' => return Ok(None),
            other => {
                return Err(Failure::new(format!(
                    "unrecognized initialization step \"{other}\""
                )));
            }
        };
        Ok(Some(name))
    }

    /// Says which foreign keys the product does not validate when they are added. It is not asked.
    fn tell_unvalidated(&mut self) {
        if let Some(text) = foreign_keys::text(&self.schema.unvalidated_keys()) {
            self.screen.line(&text);
        }
    }

    /// Says why a step has nothing to do on this product.
    fn leave_out(&mut self, step: &str, why: &str) {
        let title = self.product.dialect.title;
        self.screen.line(&format!("{step}... ({title}: {why})"));
    }

    fn create_tables(&mut self) -> Result<(), Failure> {
        self.screen.line(if self.schema.has_keys_in_create() {
            // ysql_bench's words.
            "creating tables (with primary keys)..."
        } else {
            "creating tables..."
        });
        if self.options.fillfactor != 100 && !self.product.dialect.tables.has_fillfactor {
            self.leave_out("setting the fill factor", "it has none");
        }
        self.execute_all(self.schema.create_tables())?;
        let schema = self.schema;
        if let Some((_, partitions)) = schema.partitioning {
            self.screen
                .line(&format!("creating {partitions} partitions..."));
            self.execute_all(schema.create_partitions())?;
        }
        Ok(())
    }

    fn generate_on_server(&mut self) -> Result<(), Failure> {
        let schema = self.schema;
        let in_one = self.filling() == Filling::Whole;
        if in_one {
            self.execute("begin")?;
        }
        self.execute(&schema.truncate())?;
        self.execute_all(schema.generate_on_server())?;
        if in_one {
            self.execute("commit")?;
        }
        Ok(())
    }

    fn filling(&self) -> Filling {
        self.product.dialect.tables.filling
    }

    fn generate(&mut self) -> Result<(), Failure> {
        let asked = self.options.tables.batch_rows.filter(|rows| *rows > 0);
        match (asked, self.filling()) {
            (None, Filling::Whole) => self.generate_at_once(),
            (Some(rows), _) | (None, Filling::Batches { rows }) => {
                self.generate_in_batches(rows, "")
            }
            (None, Filling::Committing { rows }) => {
                let options = format!(" with (rows_per_transaction {rows})");
                self.generate_in_batches(u64::MAX, &options)
            }
        }
    }

    /// In one transaction, which lets PostgreSQL skip what it would write for recovery and freeze
    /// the rows at once.
    fn generate_at_once(&mut self) -> Result<(), Failure> {
        self.execute("begin")?;
        self.execute(&self.schema.truncate())?;
        for fill in Fill::all(&self.options.tables, self.options.scale) {
            let options = if self.can_freeze(&fill.table)? {
                " with (freeze on)"
            } else {
                ""
            };
            let mut telling = Telling::of(&fill, self.options.quiet, self.screen.terminal);
            self.copy(&fill, 0..fill.rows, options, &mut telling)?;
            self.end_table(&telling);
        }
        self.execute("commit")
    }

    /// Each batch is a COPY and a transaction of its own. Nothing can be frozen then: that needs a
    /// table emptied in the same transaction.
    fn generate_in_batches(&mut self, batch_rows: u64, options: &str) -> Result<(), Failure> {
        self.execute(&self.schema.truncate())?;
        for fill in Fill::all(&self.options.tables, self.options.scale) {
            let mut telling = Telling::of(&fill, self.options.quiet, self.screen.terminal);
            let mut row = 0;
            while row < fill.rows {
                let end = fill.rows.min(row.saturating_add(batch_rows));
                self.copy(&fill, row..end, options, &mut telling)?;
                row = end;
            }
            self.end_table(&telling);
        }
        Ok(())
    }

    fn end_table(&mut self, telling: &Telling<'_>) {
        if let Some(blanks) = telling.progress.clear() {
            self.screen.print(&blanks);
        }
        self.print_notices();
    }

    /// Only ordinary tables take frozen rows; partitioned ones do not.
    fn can_freeze(&mut self, table: &str) -> Result<bool, Failure> {
        let since = self.product.dialect.tables.copy_freeze_since;
        if !since.is_some_and(|since| self.product.is_since(since)) {
            return Ok(false);
        }
        let result = self.session.query_with(RELKIND, &[table]);
        self.print_notices();
        let outcome = result.map_err(|e| self.query_failed(&e, RELKIND))?;
        let kind = outcome.rows.first().and_then(|row| row.first());
        Ok(matches!(kind, Some(Some(kind)) if kind == "r"))
    }

    /// These rows of a table by one COPY.
    fn copy(
        &mut self,
        fill: &Fill,
        rows: Range<u64>,
        options: &str,
        telling: &mut Telling<'_>,
    ) -> Result<(), Failure> {
        let sql = format!("copy {} from stdin{options}", fill.table);
        if self.stop.asked() {
            return Err(self.interrupted(&sql));
        }
        match self.send(&sql, fill, rows, telling) {
            Ok(()) if self.stop.asked() => Err(Failure::new("PQendcopy failed")),
            Ok(()) => Ok(()),
            Err(Refused::Start(error)) => {
                let text = self.failed(&error, Some(&sql));
                let failure = Failure::new(format!("unexpected copy in result: {text}"));
                Err(without_copy(failure, &error))
            }
            Err(Refused::Rows(_)) if self.session.is_broken() => {
                Err(Failure::new("PQputline failed"))
            }
            Err(Refused::Rows(error) | Refused::End(error)) => {
                self.end_table(telling);
                // libpq prints it as if it were a notice.
                let text = self.failed(&error, None);
                self.screen.line(&text);
                Err(without_copy(Failure::new("PQendcopy failed"), &error))
            }
        }
    }

    fn send(
        &mut self,
        sql: &str,
        fill: &Fill,
        rows: Range<u64>,
        telling: &mut Telling<'_>,
    ) -> Result<(), Refused> {
        let mut copy = self.session.copy_in(sql).map_err(Refused::Start)?;
        let mut row = rows.start;
        let mut asked: Option<Instant> = None;
        while row < rows.end {
            let end = rows.end.min((row / CHUNK_ROWS + 1) * CHUNK_ROWS);
            copy.write_with(|out| fill.write(row..end, out))
                .map_err(Refused::Rows)?;
            row = end;
            telling.rows(row, &mut self.screen);
            if self.stop.asked() {
                // Past the limit no request got through: give the copy up from this side.
                let since = *asked.get_or_insert_with(Instant::now);
                if since.elapsed() > CANCEL_LIMIT {
                    return copy.abort("interrupted").map_err(Refused::End);
                }
            }
        }
        // pgbench ends the rows with a mark, too.
        copy.write(b"\\.\n")
            .and_then(|()| copy.finish())
            .map(drop)
            .map_err(Refused::End)
    }

    fn execute_all(&mut self, statements: impl IntoIterator<Item = String>) -> Result<(), Failure> {
        statements
            .into_iter()
            .try_for_each(|sql| self.execute(&sql))
    }

    fn execute(&mut self, sql: &str) -> Result<(), Failure> {
        if self.stop.asked() {
            return Err(self.interrupted(sql));
        }
        let result = self.session.simple_query(sql);
        self.print_notices();
        result.map(drop).map_err(|e| self.query_failed(&e, sql))
    }

    fn print_notices(&mut self) {
        for notice in self.session.take_notices() {
            self.screen.line(&theirs(&notice.libpq_notice_text()));
        }
    }

    fn query_failed(&mut self, error: &Error, sql: &str) -> Failure {
        let text = self.failed(error, Some(sql));
        let failure = query_failed(&text, sql);
        match pooler::way_out(error.sqlstate().unwrap_or_default(), &text) {
            Some(way_out) => failure.hint(way_out),
            None => failure,
        }
    }

    /// The interrupt came between two statements: as if it had come in the one that is due.
    fn interrupted(&mut self, sql: &str) -> Failure {
        query_failed("ERROR:  canceling statement due to user request", sql)
    }

    /// libpq's text for an error.
    fn failed(&mut self, error: &Error, sql: Option<&str>) -> String {
        match error.server() {
            Some(server) if self.session.is_broken() => {
                format!("{}\n{}", server.libpq_text(sql), Error::closed())
            }
            Some(server) => server.libpq_text(sql),
            None => error.to_string(),
        }
    }
}

/// The way out where a server reads no rows: it says that the client has gone (measured: PGlite 0.5 with pglite-socket 0.2).
fn without_copy(failure: Failure, error: &Error) -> Failure {
    match error.sqlstate() {
        Some("08006") => failure.hint("rows without COPY: restart the server, then -I dtGvp"),
        _ => failure,
    }
}

fn query_failed(text: &str, sql: &str) -> Failure {
    Failure::new(format!("query failed: {text}")).detail(format!("Query was: {sql}"))
}

enum Refused {
    Start(Error),
    Rows(Error),
    End(Error),
}

/// The progress of one table and the clock that it goes by.
struct Telling<'a> {
    progress: Progress<'a>,
    began: Instant,
}

impl<'a> Telling<'a> {
    fn of(fill: &'a Fill, quiet: bool, terminal: bool) -> Telling<'a> {
        Telling {
            progress: Progress::new(&fill.table, fill.rows, quiet, terminal),
            began: Instant::now(),
        }
    }

    fn rows(&mut self, rows: u64, screen: &mut InitScreen<'_>) {
        if let Some(line) = self.progress.at(rows, self.began.elapsed().as_secs_f64()) {
            screen.print(&line);
        }
    }
}
