//! `run`: a trial of the pack, printed as sysbench prints it.

use std::time::Duration;

use pgdyno_measurement::{End, Reason};
use pgdyno_output::{Keep, Loading, Ran, remark, write_promised};
use pgdyno_run::header;
use pgdyno_run::prepare::prepare;
use pgdyno_run::trial::Trial;
use pgdyno_spec::{
    Compatible, ErrorPolicy, Exit, QueryMode, RetryPolicy, SysbenchDraws, TrialSpec, Warmup,
};

use super::options::Options;
use super::watch::Watch;
use super::{FAILED, Stop, tables};
use crate::script::SysbenchScript;

/// How long a run is that has no end: longer than any user waits.
const FOREVER: Duration = Duration::from_secs(100 * 366 * 86_400);

/// Does it; gives the exit code.
///
/// # Errors
/// What failed, or the error that ended a thread.
pub fn open(options: &Options) -> Result<u8, Stop> {
    write_promised(format_args!("{}", head(options)))?;
    tables::driver(options)?;
    let keep = Keep::open(options.store.as_ref().map(Option::as_deref))?;
    let interrupts = pgdyno_run::interrupts()?;
    let interrupted_before = interrupts.count();
    let of_tables = tables::of_run(options)?;
    let trial = trial(options, of_tables);
    let mut prepared = prepare(&trial.spec, &mut Loading::quiet(), interrupts)?;
    let keep = keep.begin(&mut prepared, |prepared| {
        header::header(&trial.spec, prepared)
    })?;
    let names = prepared
        .scripts
        .iter()
        .map(|script| script.program.script().name.as_str());
    let mut watch = Watch::new(options, names);
    let since = (interrupts, interrupted_before);
    let ran =
        Ran::run(trial, &prepared, keep, &mut watch, since).map_err(|failure| {
            match failure.exit {
                Exit::Connection => no_connection(&failure.message),
                _ => failure.into(),
            }
        })?;
    let recording = &ran.outcome.recording;
    if recording.clients.aborted > 0 && recording.end != End::Interrupted {
        let reason = recording.reasons.iter().find(|reason| reason.ended > 0);
        let stop = fatal(options, reason, watch.error.as_deref());
        ran.say_where();
        let _ = ran.stored()?;
        return Err(stop);
    }
    let elapsed_s = recording.measured.elapsed_us as f64 / 1e6;
    let totals = watch.finish(elapsed_s);
    if options.histogram {
        write_promised(format_args!("{}", totals.latencies.table()))?;
    }
    let text = totals.text(options.version, options.percentile);
    write_promised(format_args!("{text}"))?;
    let missing = totals.missing;
    if missing > 0 {
        remark!(
            "pgdyno: {missing} of {} events found no row with their id, and are counted as sysbench counts \
             them: the tables have fewer rows than --table-size={}",
            totals.tally.events,
            options.table_size
        );
    }
    if options.is_verbose {
        for reason in &recording.reasons {
            remark!(
                "pgdyno: ignored errors: {} of {} ({}), such as: {}",
                reason.tries(),
                reason.sqlstate,
                reason.name,
                reason.message.lines().next().unwrap_or_default()
            );
        }
    }
    for note in &ran.outcome.notes {
        remark!("pgdyno: note [{}]: {}", note.code, note.sentence);
    }
    ran.say_where();
    Ok(match ran.exit(interrupts)? {
        Exit::Ok => 0,
        Exit::Interrupted(code) => code,
        _ => FAILED,
    })
}

/// What comes before the threads begin.
fn head(options: &Options) -> String {
    let mut text = format!(
        "Running the test with following options:\nNumber of threads: {}\n",
        options.threads
    );
    if options.rate > 0 {
        text += &format!("Target transaction rate: {}/sec\n", options.rate);
    }
    if options.report_interval_s > 0 {
        text += &format!(
            "Report intermediate results every {} second(s)\n",
            options.report_interval_s
        );
    }
    text += &match options.seed {
        0 => "Initializing random number generator from current time\n".to_owned(),
        seed => format!("Initializing random number generator from seed ({seed}).\n"),
    };
    text + "\n\nInitializing worker threads...\n\n"
}

fn trial(options: &Options, of_tables: Vec<String>) -> Trial {
    let observe = match options.store {
        Some(_) => pgdyno_observe::ObserveOptions::auto(),
        None => pgdyno_observe::ObserveOptions::default(),
    };
    let is_tpcc = options.script == SysbenchScript::Tpcc;
    let is_of_sysbench = !matches!(
        options.script,
        SysbenchScript::Tpcc | SysbenchScript::BulkInsert
    );
    let events = (options.events > 0).then(|| options.events.div_ceil(options.batch));
    // A thread for which there is no event has nothing to do.
    let threads = u64::from(options.threads).min(events.unwrap_or(u64::MAX));
    let each = events.map(|all| all / threads);
    let seed = match options.seed {
        0 => None,
        seed => Some(seed as i64),
    };
    let query_mode = if options.is_prepared() {
        QueryMode::Prepared
    } else {
        QueryMode::Simple
    };
    let mut params = options.params.clone();
    params.extend(of_tables);
    if options.script == SysbenchScript::Insert && !options.auto_inc {
        // Each run its own order, so that ids of different runs hardly meet.
        let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let clock = clock.map_or(0, |time| time.as_secs());
        params.push(format!("unique_seed={}", seed.unwrap_or(clock as i64)));
    }
    let spec = TrialSpec {
        mix: is_of_sysbench.then(|| options.script.name().to_owned()),
        isolation: is_tpcc.then_some(options.tpcc.isolation),
        params,
        target: options.target.clone(),
        clients: Some((threads as u32).into()),
        duration: Some(if options.time.is_zero() {
            FOREVER
        } else {
            options.time
        }),
        warmup: Warmup::Given(options.warmup),
        rate: (options.rate > 0).then(|| (options.rate as f64).into()),
        seed,
        query_mode: Some(query_mode),
        // A failed transaction is not tried again as it was: the next one has other values.
        retry: RetryPolicy {
            max_tries: Some(1),
            ..RetryPolicy::default()
        },
        errors: ErrorPolicy {
            reconnect: true,
            exit_on_abort: true,
            retries_duplicates: true,
            ..ErrorPolicy::default()
        },
        compatible: Compatible {
            log_share: Some(1.0),
            transactions_per_client_max: each,
            one_more_transaction: events.map(|all| (all % threads) as u32),
            counts_committed: true,
            sysbench_draws: is_of_sysbench.then(|| draws(options)),
            ..Compatible::default()
        },
        observe: observe.spec.clone(),
        no_checks: true,
        ..TrialSpec::of(options.script.pack())
    };
    Trial {
        share: None,
        spec: spec.resolved(),
        observe,
    }
}

/// The random numbers of sysbench's threads.
fn draws(options: &Options) -> SysbenchDraws {
    let names = if options.is_prepared() {
        options.script.prepared(&options.work, options.tables)
    } else {
        0
    };
    SysbenchDraws {
        threads_before: u32::from(options.report_interval_s > 0) + u32::from(options.rate > 0),
        // A name of a prepared statement has two.
        drawn: 2 * names as u32,
    }
}

pub fn no_connection(why: &str) -> Stop {
    Stop::fatal(format!("Connection to database failed: {why}"))
        .and("")
        .and("FATAL: `thread_init' function failed: connection creation failed")
        .and("FATAL: Thread initialization failed!")
}

/// A thread has ended with an error that is no conflict.
fn fatal(options: &Options, reason: Option<&Reason>, reported: Option<&str>) -> Stop {
    let (sqlstate, message) = match reason {
        Some(reason) => (reason.sqlstate.as_str(), reason.message.as_str()),
        None => ("", reported.unwrap_or("a thread has ended before its time")),
    };
    // As libpq's primary message: without severity and context.
    let message = message.lines().next().unwrap_or_default();
    let message = message.split_once(":  ").map_or(message, |(_, text)| text);
    let call = if options.is_prepared() {
        "PQexecPrepared"
    } else {
        "PQexec"
    };
    Stop::fatal(format!("{call}() failed: 7 {message}")).and(format!(
        "FATAL: `thread_run' function failed: SQL error, errno = 0, state = '{sqlstate}': {message}"
    ))
}
