//! A run: what comes before it as pgbench does it, the run, and its report.

use std::collections::BTreeMap;
use std::time::Duration;

use pgdyno_drive::Control;
use pgdyno_measurement::{DriveError, End, Recording};
use pgdyno_model::Observers;
use pgdyno_platform::interrupt::Interrupts;
use pgdyno_session::Session;
use pgdyno_spec::{Compatible, ErrorPolicy, RetryPolicy, TrialSpec, Warmup};
use pgdyno_wire::Addr;

use super::connect;
use super::flavour::{Flavour, PG_VERSION, PG_VERSION_NUM};
use super::hdr_log::HdrLog;
use super::log_files::LogFiles;
use super::messages::{Kind, Messages, Stop, write_all};
use super::options::{self, Bench};
use super::progress::Progress;
use super::report::PgbenchReport;
use super::table_info::{self, TableInfo};
use super::watch::Watch;
use pgdyno_database::dialect::Product;
use pgdyno_output::Sink;
use pgdyno_report::documents;
use pgdyno_run::header;
use pgdyno_run::interrupt::EndOnInterrupt;
use pgdyno_run::prepare::Prepared;
use pgdyno_run::trial::{self, Trial};
use pgdyno_run::validity;

use pgdyno_output::{Keep, rescued, write_promised};
use pgdyno_workload::mix::WeightedScript;

/// pgbench's exit code when a client has ended before its time.
const ABORTED: u8 = 2;

/// Does it; gives the exit code.
///
/// # Errors
/// What ends it before the run, in pgbench's words.
pub fn run(
    target: &options::Target,
    options: Bench,
    flavour: &'static Flavour,
    say: &Messages,
) -> Result<u8, Stop> {
    let json_to = match &options.json {
        Some(path) => Sink::create(path)?,
        None => Sink::None,
    };
    let keep = Keep::open(options.store.as_ref().map(Option::as_deref))?;
    let (target, mut session) = connect::open(target, say)
        .map_err(|stop| stop.and(Kind::Error, "could not create connection for setup"))?;
    write_promised(format_args!("{}\n", version_line(&session, flavour)))?;
    say.log(Kind::Debug, &debug_line(&session, &options));
    let tables = tables(&mut session, &options, flavour, say)?;
    if !options.no_vacuum {
        vacuum(&mut session, options.vacuum_all, flavour, say);
    }
    let trial = to_trial(&options, flavour, say);
    let max_tries = trial.spec.retry.tries();
    let scripts: Vec<WeightedScript> = weighted(&options);
    let names: Vec<String> = scripts.iter().map(|script| script.name.clone()).collect();
    // The run itself needs none of what is asked of the server for the document and the store.
    let wants_facts = options.json.is_some() || options.store.is_some();
    let mut prepared = Prepared::of_scripts(
        target,
        scripts,
        (options.scripts.clone(), options.names.clone()),
        variables(&options, tables),
        wants_facts.then_some(&mut session),
        options.clients as usize,
    );
    session.close();
    let mut watch = watch(&options, max_tries, &names, say)?;
    let interrupts = pgdyno_run::interrupts()?;
    let control = Control::default();
    let ends_on_interrupt = EndOnInterrupt::on(&control, interrupts, interrupts.count())?;
    let mut keep = keep.begin(&mut prepared, |prepared| {
        header::header(&trial.spec, prepared)
    })?;
    let mut observers = Observers::new([keep.observer(), &mut watch]);
    let outcome = trial.measure(&prepared, &control, &mut observers);
    drop(ends_on_interrupt);
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            match error {
                DriveError::Interrupted => keep.abort(&error.to_string()),
                _ => keep.fail(&error.to_string()),
            }
            return Err(refused(&error, &prepared));
        }
    };
    let kept = keep.finish(&outcome);
    let recording = &outcome.recording;
    if let End::ClientAborted { thread } = recording.end {
        let text = format!("Run was aborted due to an error in thread {thread}");
        return Err(Stop {
            code: ABORTED,
            ..Stop::fatal(text)
        });
    }
    let report = PgbenchReport {
        options: &options,
        max_tries,
        tables,
        recording,
    };
    write_promised(format_args!("{}", report.text()))?;
    json_to.write(&documents::whole(&outcome))?;
    for error in watch.take_errors() {
        say.log(Kind::Error, &error);
    }
    // Of pgdyno's notes only those without which the figures above are another's.
    for note in &outcome.notes {
        if [validity::GENERATOR_STOPPED, validity::MISSING_ROWS].contains(&&*note.code) {
            say.log(Kind::Warning, &note.sentence);
        }
    }
    if recording.clients.aborted > 0 {
        say.log(
            Kind::Error,
            "Run was aborted; the above results are incomplete.",
        );
    }
    if let Err(failure) = kept {
        return Err(rescued(failure, &documents::whole(&outcome)).into());
    }
    Ok(exit_code(recording, interrupts))
}

/// What the built-in scripts' tables are like; of scripts of the user's own, the scale that was given.
fn tables(
    session: &mut Session,
    options: &Bench,
    flavour: &Flavour,
    say: &Messages,
) -> Result<TableInfo, Stop> {
    if !options.uses_builtin {
        return Ok(TableInfo {
            scale: options.scale.unwrap_or(1) as i32,
            partitions: None,
        });
    }
    let tables = table_info::read(session, flavour)?;
    if options.scale.is_some() {
        let prefix = flavour.prefix;
        let text = format!(
            "scale option ignored, using count from {prefix}_branches table ({})",
            tables.scale
        );
        say.log(Kind::Warning, &text);
    }
    Ok(tables)
}

fn watch<'a>(
    options: &'a Bench,
    max_tries: u32,
    names: &[String],
    say: &'a Messages,
) -> Result<Watch<'a>, Stop> {
    let (log, hdr_log) = (options.log.as_ref(), options.hdr_log.as_deref());
    Ok(Watch {
        say,
        progress: Progress::new(options, max_tries),
        logs: log
            .map(|log| LogFiles::create(log, options, max_tries))
            .transpose()?,
        hdr_log: hdr_log
            .map(|path| HdrLog::create(path, names))
            .transpose()?,
    })
}

/// A client that `--reconnect` has not brought back by the end has ended before its time, too.
fn exit_code(recording: &Recording, interrupts: &Interrupts) -> u8 {
    if recording.end == End::Interrupted {
        interrupts.exit_code().unwrap_or(130)
    } else if recording.clients.aborted > 0 || recording.has_lost_server() {
        ABORTED
    } else {
        0
    }
}

/// `pgbench (18.6)`, or with the server's version when that is another one.
fn version_line(session: &Session, flavour: &Flavour) -> String {
    let name = flavour.name;
    let version = session.parameter("server_version").unwrap_or_default();
    if version_num(version) == PG_VERSION_NUM {
        format!("{name} ({PG_VERSION})")
    } else {
        format!("{name} ({PG_VERSION}, server {version})")
    }
}

/// `server_version_num` from the text, as libpq works it out for releases since 10.
fn version_num(version: &str) -> String {
    let end = version
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(version.len());
    let mut parts = version[..end].split('.');
    let mut part = || parts.next().and_then(|p| p.parse().ok()).unwrap_or(0u32);
    let (major, minor) = (u64::from(part()), u64::from(part()));
    (major * 10_000 + minor).to_string()
}

fn debug_line(session: &Session, options: &Bench) -> String {
    let candidate = session.candidate();
    let port = match &candidate.addr {
        Addr::Tcp(address) => address.port().to_string(),
        // `…/.s.PGSQL.5432`
        Addr::Unix(path) => path
            .extension()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
    };

    let (what, number) = match options.duration_s {
        0 => ("nxacts", options.transactions),
        duration_s => ("duration", duration_s),
    };
    format!(
        "pghost: {} pgport: {} nclients: {} {what}: {number} dbName: {}",
        candidate.host,
        port,
        options.clients,
        candidate.login.database()
    )
}

fn vacuum(session: &mut Session, with_accounts: bool, flavour: &Flavour, say: &Messages) {
    let can_vacuum = Product::presumed(session).dialect.vacuum.is_some();
    let mut attempt = |sql: &str| {
        let sql = flavour.renamed(sql);
        if let Err(error) = session.simple_query(&sql) {
            say.log(Kind::Error, &table_info::libpq_text(&error, &sql));
            say.log(Kind::Detail, "(ignoring this error and continuing anyway)");
        }
    };
    write_all("starting vacuum...");
    if can_vacuum {
        attempt("vacuum pgbench_branches");
        attempt("vacuum pgbench_tellers");
    }
    attempt("truncate pgbench_history");
    write_all("end.\n");
    if with_accounts && can_vacuum {
        let prefix = flavour.prefix;
        write_all(&format!("starting vacuum {prefix}_accounts..."));
        attempt("vacuum analyze pgbench_accounts");
        write_all("end.\n");
    }
}

fn weighted(options: &Bench) -> Vec<WeightedScript> {
    let script = |(script, text): (&pgdyno_drive::Script, &String)| {
        let name = &script.program.script().name;
        WeightedScript::plain(name, text.clone(), script.weight as u32)
    };
    options
        .scripts
        .iter()
        .zip(&options.texts)
        .map(script)
        .collect()
}

/// `:scale`, unless `-D` says otherwise. What else every client has, the engine knows.
fn variables(options: &Bench, tables: TableInfo) -> BTreeMap<String, String> {
    for (name, value) in &options.defined {
        pgdyno_run::prepare::keep_out(name, value);
    }
    let scale = ("scale".to_owned(), tables.scale.to_string());
    std::iter::once(scale)
        .chain(options.defined.clone())
        .collect()
}

fn to_trial(options: &Bench, flavour: &Flavour, say: &Messages) -> Trial {
    let is_one_try = options.max_tries == 0 && flavour.zero_tries_is_one;
    let limit_us = options.latency_limit_us;
    let observe = match options.store {
        Some(_) => pgdyno_observe::ObserveOptions::auto(),
        None => pgdyno_observe::ObserveOptions::default(),
    };
    let transactions = u64::from(options.transactions);
    let spec = TrialSpec {
        clients: Some(options.clients.into()),
        threads: Some(options.threads),
        transactions: (transactions > 0).then_some(transactions),
        duration: Some(Duration::from_secs(options.duration_s.into())),
        warmup: Warmup::Given(options.warmup),
        rate: options.rate.map(Into::into),
        latency_limit: (limit_us > 0).then(|| Duration::from_micros(limit_us)),
        retry: RetryPolicy {
            max_tries: Some(if is_one_try { 1 } else { options.max_tries }),
            ..RetryPolicy::default()
        },
        errors: ErrorPolicy {
            continue_on_error: options.continue_on_error,
            verbose_errors: options.verbose_errors,
            reconnect: options.reconnect,
            exit_on_abort: options.exit_on_abort,
            trusts_commit: true,
            ends_on_last_try: flavour.ends_on_last_try,
            counts_as_pgbench: true,
            ..ErrorPolicy::default()
        },
        query_mode: Some(options.query_mode),
        connection_per_transaction: options.connect,
        seed: Some(options.seed as i64),
        observe: observe.spec.clone(),
        compatible: Compatible {
            log_share: options.log.as_ref().map(|log| log.sampling.unwrap_or(1.0)),
            times_every_command: options.report_per_command,
            debug: say.debug,
            transactions_per_client_max: None,
            one_more_transaction: None,
            counts_committed: false,
            trusts_params: false,
            sysbench_draws: None,
            commits: None,
        },
        ..TrialSpec::default()
    };
    Trial {
        share: None,
        spec: spec.resolved(),
        observe,
    }
}

fn refused(error: &DriveError, prepared: &Prepared) -> Stop {
    match error {
        DriveError::Connect { client, text } => Stop::fatal(text).and(
            Kind::Error,
            format!("could not create connection for client {client}"),
        ),
        other => trial::explain(other, prepared).into(),
    }
}
