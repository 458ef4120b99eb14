//! `run`: a Trial of the pack, its output as cockroach prints it.

use std::io::Write;

use tempfile::{Builder, NamedTempFile};

use super::format::{Format, Printer};
use super::generator::TransactionGenerator;
use super::metrics::WorkloadMetrics;
use super::options::{self, QuerybenchQueries, Run};
use super::snapshot::HistogramFile;
use super::watch::Watch;
use super::{WorkloadOptions, tables, tpmc};
use pgdyno_report::{documents, retries};
use pgdyno_run::header;
use pgdyno_run::prepare::prepare;
use pgdyno_run::trial::Trial;

use pgdyno_model::Outcome;
use pgdyno_output::{Keep, Loading, Ran, remark, write_answer};
use pgdyno_spec::{Address, Failure, TargetSpec, TrialSpec, text};

/// Does it; gives the exit code.
///
/// # Errors
/// What failed, and the first error of an operation unless errors are tolerated.
pub fn open(options: &WorkloadOptions) -> Result<u8, Failure> {
    let run = options::run(&options.parsed, &options.workload).map_err(Failure::new)?;
    let histograms = match &run.histograms {
        Some((path, layout, form)) => {
            Some(HistogramFile::create(path, *layout, form.clone()).map_err(Failure::new)?)
        }
        None => None,
    };
    let keep = Keep::open(run.store.as_ref().map(Option::as_deref))?;
    let interrupts = pgdyno_run::interrupts()?;
    let interrupted_before = interrupts.count();
    let params = {
        let target = tables::target(options.place.urls())?;
        let (mut session, product) = if run.init {
            let (mut session, product) = tables::session_in_new(options, &target)?;
            tables::load(options, &target, &mut session, &product, interrupts)?;
            (session, product)
        } else {
            tables::session(&target)?
        };
        tables::must_be_there(options, &mut session, &product)?;
        tables::tell_left_out(options, &product)?;
        session.close();
        match options.generator.table() {
            Some(_) => tables::params(options, &product, &tables::pack(options.generator)?),
            None => Vec::new(),
        }
    };
    // As a file, as scripts are.
    let file = options.workload.queries.as_ref().map(script_file);
    let file = file.transpose()?;
    let workload = match &file {
        Some(file) => file.path().to_string_lossy().into_owned(),
        None => options.generator.pack().to_owned(),
    };
    let trial = trial(options, workload, params, &run);
    let mut prepared = prepare(&trial.spec, &mut Loading::quiet(), interrupts)?;
    let names = prepared
        .scripts
        .iter()
        .map(|script| script.program.script().name.clone());
    let units = match &options.workload.queries {
        Some(queries) => queries.names.clone(),
        None => pgdyno_drive::operations(&prepared.scripts),
    };
    let mut watch = Watch::new(
        Printer::new(run.format),
        histograms,
        run.display_every_s,
        &names.collect::<Vec<_>>(),
        &units,
        run.tolerates_errors,
    );
    if let Some(port) = run.prometheus_port {
        watch.serve(WorkloadMetrics::serve(port, options.generator)?);
    }
    let keep = keep.begin(&mut prepared, |prepared| {
        header::header(&trial.spec, prepared)
    })?;
    let since = (interrupts, interrupted_before);
    let ran = Ran::run(trial, &prepared, keep, &mut watch, since)?;
    if options.workload.connects {
        watch.add("connect", &ran.outcome.recording.connections.latencies);
    }
    let sequence = match options.generator {
        TransactionGenerator::Kv => {
            options::sequence(&options.parsed, &ran.outcome.recording.drawn)
        }
        _ => String::new(),
    };
    let mut said = watch.finish(&sequence);
    if options.generator == TransactionGenerator::Tpcc && run.format != Format::IncrementalJson {
        let seen = tpmc::Seen {
            format: run.format,
            active_warehouses: options::active_warehouses(&options.parsed).map_err(Failure::new)?,
            is_local: options::is_local(&options.parsed),
            recording: &ran.outcome.recording,
        };
        said.push_str(&tpmc::text(&seen, watch.total(tpmc::NEW_ORDER)));
    }
    write_answer(format_args!("{said}"))?;
    for line in remarks(&ran.outcome) {
        remark!("pgdyno: {line}");
    }
    if let Some(error) = watch.take_error() {
        remark!("{error}");
    }
    ran.say_where();
    let outcome = ran.stored()?;
    match what_went_wrong(&outcome, watch.first_error) {
        Some(error) => Err(Failure::new(error)),
        None => Ok(0),
    }
}

fn script_file(queries: &QuerybenchQueries) -> Result<NamedTempFile, Failure> {
    let named = Builder::new()
        .prefix("querybench-")
        .suffix(".sql")
        .tempfile();
    let written = named.and_then(|mut file| {
        file.write_all(queries.script.as_bytes())?;
        Ok(file)
    });
    written.map_err(|e| Failure::new(format!("could not write a file for the queries: {e}")))
}

/// Why a run that has its totals has failed all the same.
fn what_went_wrong(outcome: &Outcome, first_error: Option<String>) -> Option<String> {
    let recording = &outcome.recording;
    let broken = recording.broken_invariant.clone();
    let clients = &recording.clients;
    let aborted = || {
        format!(
            "{} of {} workers ended before their time",
            clients.aborted, clients.total
        )
    };
    broken
        .or(first_error)
        .or((clients.aborted > 0).then(aborted))
}

fn trial(options: &WorkloadOptions, workload: String, params: Vec<String>, run: &Run) -> Trial {
    let observe = match run.store {
        Some(_) => pgdyno_observe::ObserveOptions::auto(),
        None => pgdyno_observe::ObserveOptions::default(),
    };
    let urls = options.place.urls().into_iter();
    let spec = TrialSpec {
        workload: vec![workload],
        mix: options.workload.mix.clone(),
        params,
        target: TargetSpec {
            urls: urls.map(Address::from).collect(),
            ..TargetSpec::default()
        },
        observe: observe.spec.clone(),
        // cockroach's tool has a command of its own for them.
        no_checks: true,
        ..run.spec.clone()
    };
    Trial {
        share: None,
        spec: spec.resolved(),
        observe,
    }
}

/// What the table has no column for.
fn remarks(outcome: &Outcome) -> Vec<String> {
    let recording = &outcome.recording;
    let mut lines: Vec<String> = retries::text(&documents::run(outcome))
        .lines()
        .map(str::to_owned)
        .collect();
    if let Some(response) = &recording.measured.all().response {
        // A dash where too few values lie beyond it.
        let percentile = |percent| {
            let us = response.percentile_us(percent);
            us.map_or_else(|| text::DASH.to_owned(), text::ms)
        };
        lines.push(format!(
            "the table shows service times; from the schedule of --max-rate on, p50 {} p95 {} p99 {} max {} ms",
            percentile(50.0),
            percentile(95.0),
            percentile(99.0),
            text::ms(response.max_us()),
        ));
    }
    let outages = &recording.outages;
    if outages.count > 0 {
        lines.push(format!(
            "{} connections were lost; without one for {} ms at worst",
            text::count(outages.count),
            text::ms(outages.lengths.max_us())
        ));
    }
    let notes = outcome.notes.iter();
    lines.extend(
        notes.map(|note| format!("note [{}]: {}; {}", note.code, note.sentence, note.remedy)),
    );
    lines
}
