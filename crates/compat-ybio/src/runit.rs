//! `runit`: a trial of the pack by one session, with ybio's notices and its row of `benchruns`.

use std::time::{Duration, Instant};

use pgdyno_database::{admin, trouble};
use pgdyno_measurement::{DriveError, Event, Level, Message, Recording};
use pgdyno_model::{Observer, Outcome};
use pgdyno_output::{Loading, Ran, Verbosity, answer, remark};
use pgdyno_run::prepare::prepare;
use pgdyno_run::trial::Trial;
use pgdyno_run::{header, interrupts};
use pgdyno_session::{Session, quote_ident, quote_literal};
use pgdyno_spec::{Exit, Failure, TrialSpec};

use super::benchruns::{End, Run};
use super::parameters::Parameters;
use super::table::{self, TableMaker};
use super::{PACK, YbioArgs};

/// An engine's thread passes on a megabyte of notices: these few are never too many.
const NOTICES_MAX: u64 = 3600;

pub fn open(
    args: &YbioArgs,
    parameters: &Parameters,
    verbosity: Verbosity,
) -> Result<Exit, Failure> {
    let json_to = args.json.open()?;
    let keep = args.keep.open()?;
    let interrupts = interrupts()?;
    let interrupted_before = interrupts.count();
    let name = parameters.table();
    let target = args.target()?;
    let mut session = target.connect()?;
    let Some(maker) = table::maker(&mut session, &name)? else {
        let text = format!("there is no table {name}");
        return Err(Failure::new(text).hint("make it: pgdyno ybio setup, with the same tab_num"));
    };
    let duration = duration(&mut session, parameters)?;
    let tab_rows = parameters.whole("tab_rows");
    let batch_size = parameters.whole("batch_size").min(tab_rows);
    let counted = if parameters.flag("initial_count") {
        Some(count(&mut session, &name, tab_rows)?)
    } else {
        None
    };
    if let TableMaker::Pgdyno { tab_rows: made } = maker
        && made < tab_rows
    {
        // ybio runs, and finds little.
        let text = format!("{name} was set up with tab_rows={made}, not {tab_rows}");
        return Err(Failure::new(text).hint(format!("tab_rows={made}, or fewer")));
    }
    let run = Run {
        pct_update: parameters.whole("pct_update"),
        prepared: parameters.flag("prepared"),
        index_only: parameters.flag("index_only"),
        tab_rows,
        batch_size,
        table: &name,
        counted,
        comments: parameters.text("comments"),
    };
    let job = run.begin(&mut session)?;
    let observe = pgdyno_observe::ObserveOptions::default();
    let spec = TrialSpec {
        params: params(parameters, &run, maker, job, duration),
        target: args.wanted(),
        clients: Some(1.into()),
        duration: Some(duration),
        observe: observe.spec.clone(),
        ..TrialSpec::of(PACK)
    };
    let trial = Trial {
        share: None,
        spec: spec.resolved(),
        observe,
    };
    let mut prepared = prepare(&trial.spec, &mut Loading::quiet(), interrupts)?;
    let keep = keep.begin(&mut prepared, |prepared| {
        header::header(&trial.spec, prepared)
    })?;
    let mut screen = RunitScreen {
        is_quiet: verbosity.quiet,
        ended: None,
    };
    let since = (interrupts, interrupted_before);
    let ran = Ran::run(trial, &prepared, keep, &mut screen, since)?;
    if ran.measured(interrupts) == Exit::Ok {
        let ended = screen.ended.map_or(Duration::ZERO, |at| at.elapsed());
        end(&ran.outcome.recording, ended).write(&mut session, job)?;
        if !args.json.replaces_text() {
            answer!("CALL\n")?;
        }
    } else {
        remark!("pgdyno: the run did not end well: job {job} of benchruns stays without an end");
    }
    ran.print(json_to, verbosity)?;
    ran.exit(interrupts)
}

/// The pack's parameters of this run.
fn params(
    parameters: &Parameters,
    run: &Run<'_>,
    maker: TableMaker,
    job: u64,
    duration: Duration,
) -> Vec<String> {
    let every_s = 1 + duration.as_secs() / NOTICES_MAX;
    let mut params = parameters.of_table();
    // The tables of others do not tell how many rows they were made with.
    params.push(match maker {
        TableMaker::Pgdyno { .. } => format!("active={}", run.tab_rows),
        TableMaker::Ybio | TableMaker::Others => format!("tab_rows={}", run.tab_rows),
    });
    params.push(format!("batch_size={}", run.batch_size));
    params.push(format!("pct_update={}", run.pct_update));
    params.push(format!("prepared={}", run.prepared));
    params.push(format!("index_only={}", run.index_only));
    params.push(format!("notice_every_s={every_s}"));
    params.push(format!("job_id={job}"));
    params
}

/// The server knows what an interval is.
fn duration(session: &mut Session, parameters: &Parameters) -> Result<Duration, Failure> {
    let text = parameters.text("run_duration").unwrap_or_default();
    let query = format!(
        "SELECT extract(epoch FROM {}::interval)::float8",
        quote_literal(text)
    );
    let wrong = |why: String| {
        Failure::with(Exit::Usage, format!("run_duration={text}: {why}"))
            .hint("an interval, such as '1 minute' or '00:00:30'")
    };
    let seconds = admin::value(session, &query).map_err(|e| wrong(e.to_string()))?;
    let seconds = seconds.and_then(|seconds| seconds.parse::<f64>().ok());
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    match duration {
        Some(duration) if !duration.is_zero() => Ok(duration),
        _ => Err(wrong("it must be longer than nothing".to_owned())),
    }
}

/// The table's rows and its largest `scratch`.
fn count(session: &mut Session, table: &str, wanted: u64) -> Result<(u64, Option<i64>), Failure> {
    let query = format!("SELECT count(*), max(scratch) FROM {}", quote_ident(table));
    let rows = admin::rows(session, &query)
        .map_err(|e| trouble::server(&e, &format!("could not count the rows of {table}")))?;
    let mut row = rows.into_iter().next().unwrap_or_default().into_iter();
    let rows = row
        .next()
        .flatten()
        .and_then(|rows| rows.parse().ok())
        .unwrap_or(0);
    let scratch = row
        .next()
        .flatten()
        .and_then(|scratch| scratch.parse().ok());
    if rows < wanted {
        Err(Failure::new(format!(
            "Cannot read {wanted} rows from a {rows} rows table"
        ))
        .hint(format!(
            "lower tab_rows, or make {table} larger: pgdyno ybio setup"
        )))
    } else {
        Ok((rows, scratch))
    }
}

fn end(recording: &Recording, since: Duration) -> End {
    let all = recording.measured.all();
    End {
        batches: all.units.iter().map(|units| units.count()).sum(),
        rows: all.units.iter().map(|units| units.rows).sum(),
        elapsed: Duration::from_micros(recording.measured.elapsed_us),
        since,
    }
}

/// What psql would show: the notices of the server, and what happened to connections.
struct RunitScreen {
    is_quiet: bool,
    /// When the clients had ended.
    ended: Option<Instant>,
}

impl Observer<Outcome> for RunitScreen {
    fn event(&mut self, event: &Event) {
        remark!("pgdyno: {}", event.text);
    }

    fn message(&mut self, message: &Message) {
        match message.level {
            Level::Notice if !self.is_quiet => remark!("{}", message.text.trim_end()),
            Level::Error => remark!("pgdyno: {}", message.text),
            _ => {}
        }
    }

    fn thread_ended(&mut self, _thread: usize, _at_us: u64) {
        self.ended = Some(Instant::now());
    }

    fn ended(&mut self, _result: Result<&Recording, &DriveError>) {
        self.ended.get_or_insert_with(Instant::now);
    }
}
