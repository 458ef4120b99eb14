//! `pgdyno pgio run`: pgio's lines around a trial of the pack, and the figures that are true.

use std::time::Duration;

use pgdyno_measurement::{ClientUnits, Recording, Tally};
use pgdyno_model::{Fact, Observer, Outcome};
use pgdyno_session::Session;
use pgdyno_spec::{Exit, Failure, TrialSpec};
use time::OffsetDateTime;

use super::conf::Conf;
use super::created;
use super::files::{self, Folder};
use super::host::{self, Monitors};
use super::lines::{self, COUNTERS, PgioCounters, SessionRow};
use super::{PACK, PREFIX, PgioRunArgs};
use pgdyno_database::dialect::Product;
use pgdyno_database::{admin, trouble};
use pgdyno_model::document::{Accounting, BufferCounters};
use pgdyno_model::notebook::verdict;
use pgdyno_output::{Ran, Verbosity, write_answer};
use pgdyno_run::header;
use pgdyno_run::interrupts;
use pgdyno_run::prepare::prepare;
use pgdyno_run::trial::Trial;
use pgdyno_workload::params::Params;
use pgdyno_workload::{loader, resolve};

pub fn open(
    args: &PgioRunArgs,
    verbosity: Verbosity,
    screen: &mut dyn Observer<Outcome>,
) -> Result<Exit, Failure> {
    let conf = args.conf.read()?;
    conf.check_update_percent()?;
    let folder = super::folder(&args.out)?;
    let json_to = args.json.open()?;
    let keep = args.keep.open()?;
    let wanted = super::wanted(&conf)?;
    let interrupts = interrupts()?;
    let interrupted_before = interrupts.count();
    let (params, shared_buffers, procedures) = {
        let target = super::connected(&wanted)?;
        let mut session = target.connect()?;
        let rows = loaded_rows(&mut session, &conf)?;
        let tables = loaded_tables(&mut session, &conf)?;
        let shared_buffers = admin::value(&mut session, "SHOW shared_buffers");
        let procedures = created::procedures(&mut session, conf.tables);
        let params = params(&conf, tables, rows);
        (params, shared_buffers.ok().flatten(), procedures)
    };
    let observe = pgdyno_observe::ObserveOptions::default();
    let spec = TrialSpec {
        params,
        target: wanted,
        clients: Some((conf.sessions() as u32).into()),
        duration: Some(conf.run_time),
        observe: observe.spec.clone(),
        ..TrialSpec::of(PACK)
    };
    let trial = Trial {
        share: None,
        spec: spec.resolved(),
        observe,
    };
    let mut prepared = prepare(&trial.spec, &mut verbosity.progress(), interrupts)?;
    folder.clean()?;
    let objects = {
        let mut session = prepared.target.connect()?;
        let now = created::procedures(&mut session, conf.tables);
        created::objects(&mut session, now.difference(&procedures).count())
    };
    folder.write("pgio_objects_creation.out", &objects)?;
    let is_text = !args.json.replaces_text();
    if is_text {
        let shared_buffers = shared_buffers.unwrap_or_else(|| "not known".to_owned());
        let head = lines::head(&conf, &shared_buffers, OffsetDateTime::now_utc());
        write_answer(format_args!("{head}"))?;
    }
    let keep = keep.begin(&mut prepared, |prepared| {
        header::header(&trial.spec, prepared)
    })?;
    let since = (interrupts, interrupted_before);
    host::add_diskstats(&folder)?;
    let monitors = Monitors::start(&args.out)?;
    let ran = Ran::run(trial, &prepared, keep, screen, since)?;
    let monitored = monitors.end();
    host::add_diskstats(&folder)?;
    let recording = &ran.outcome.recording;
    write_sessions(&folder, &conf, recording)?;
    if is_text {
        let elapsed = Duration::from_micros(recording.measured.elapsed_us);
        let its_lines = tail(&conf, ran.outcome.findings.get().as_ref(), elapsed);
        write_answer(format_args!("{its_lines}\n"))?;
        if let (_, Some(why)) = verdict(recording) {
            write_answer(format_args!("NOT VALID: {why}; the run was incomplete\n\n"))?;
        }
    }
    ran.print(json_to, verbosity)?;
    monitored?;
    ran.exit(interrupts)
}

/// The rows of the first table; a run may touch fewer.
fn loaded_rows(session: &mut Session, conf: &Conf) -> Result<u64, Failure> {
    let ask = |e| trouble::server(&e, "could not look for pgio's tables");
    let dialect = Product::ask(session).map_err(ask)?.dialect;
    let table = format!("{PREFIX}1");
    // The first and the last one: between them there is no gap.
    for (number, fewer) in [(1, None), (conf.tables, Some("NUM_SCHEMAS: fewer"))] {
        let table = format!("{PREFIX}{number}");
        let find = dialect
            .find_table
            .replace("{literal}", &format!("'{table}'"));
        if admin::value(session, &find).map_err(ask)?.is_none() {
            let failure = Failure::new(format!("there is no table {table}")).hint(SETUP);
            return Err(fewer.into_iter().fold(failure, Failure::hint));
        }
    }
    let rows = admin::value(session, &format!("SELECT max(mykey) FROM {table}"));
    let rows = rows.map_err(ask)?.and_then(|rows| rows.parse::<u64>().ok());
    match rows.unwrap_or(0) {
        rows if rows < conf.scale.blocks => Err(Failure::new(format!(
            "SCALE={} is {} rows, and {table} has {rows}",
            conf.scale.text, conf.scale.blocks
        ))
        .hint("a run may touch fewer rows than were loaded, not more: lower SCALE")
        .hint(SETUP)),
        rows => Ok(rows),
    }
}

/// The way out where tables are missing, or have fewer rows than a run is to touch.
const SETUP: &str = "make it: pgdyno pgio setup, with the same configuration";

/// How many tables were loaded; a run may use fewer. Tables that pgdyno did not load are as many as
/// the configuration says.
fn loaded_tables(session: &mut Session, conf: &Conf) -> Result<u64, Failure> {
    let pack = resolve::pack(PACK).map_err(|e| Failure::new(e.to_string()))?;
    let usage = |e| Failure::with(Exit::Usage, e);
    let params = Params::parse(&pack, None, &[format!("tab_prefix={PREFIX}")]).map_err(usage)?;
    let known = loader::known(session, &pack, &params)?;
    let loaded = known
        .get("schemas")
        .and_then(|text| text.parse::<u64>().ok());
    Ok(loaded.unwrap_or(1).max(conf.tables))
}

fn params(conf: &Conf, tables: u64, rows: u64) -> Vec<String> {
    vec![
        format!("tab_prefix={PREFIX}"),
        format!("schemas={tables}"),
        format!("active_schemas={}", conf.tables),
        format!("scale={rows}"),
        format!("active={}", conf.scale.blocks),
        format!("work_unit={}", conf.work_unit),
        format!("update_work_unit={}", conf.update_work_unit),
        format!("update_pct={}", conf.update_percent),
    ]
}

/// pgio's last lines; without counters of a buffer pool there is nothing that they could say.
fn tail(conf: &Conf, accounting: Option<&Accounting>, elapsed: Duration) -> String {
    let buffers = accounting.map(|it| &it.buffers);
    let reported = match buffers {
        Some(Fact::Known(buffers)) => {
            counters(buffers).ok_or("the server has no such counters".to_owned())
        }
        Some(Fact::Unknown(why)) => Err(why.clone()),
        None => Err("nothing was measured".to_owned()),
    };
    match reported {
        Ok((database, counters)) => {
            let mut text = lines::tail(conf, database, counters, elapsed);
            if conf.dbname != database {
                text += &format!(
                    "(DBNAME={} names another database than the sessions', which is {database})\n",
                    conf.dbname
                );
            }
            text
        }
        Err(why) => format!("pg_stat_database stats: none: {why}\n"),
    }
}

fn counters(buffers: &BufferCounters) -> Option<(&str, [PgioCounters; 2])> {
    let mut both = [[0; COUNTERS.len()]; 2];
    for (counters, moment) in both.iter_mut().zip([&buffers.before, &buffers.after]) {
        for (value, name) in counters.iter_mut().zip(COUNTERS) {
            *value = *moment.get(name)?;
        }
    }
    Some((&buffers.database, both))
}

/// A file for each session, and one with all of them: session `j` of table `i` is client
/// `(j - 1) * tables + i - 1`.
fn write_sessions(folder: &Folder<'_>, conf: &Conf, recording: &Recording) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for table in 1..=conf.tables {
        for session in 1..=conf.threads {
            let client = (session - 1) * conf.tables + table - 1;
            let mut of = recording.by_client.iter();
            let Some(units) = of.find(|units| units.client as u64 == client) else {
                continue;
            };
            let row = row(units, &recording.operations);
            let text = lines::session(conf, table, &row);
            folder.write(&files::session_file(table, session), &text)?;
            rows.push(row);
        }
    }
    folder.write("pgio_session_detail.out", &lines::session_detail(&rows))
}

fn row(units: &ClientUnits, operations: &[String]) -> SessionRow {
    let of = |name: &str| {
        let at = operations.iter().position(|operation| operation == name);
        let tally = at.and_then(|at| units.operations.get(at));
        tally.copied().unwrap_or(Tally::default())
    };
    let (selects, updates) = (of("select"), of("update"));
    SessionRow {
        pid: u64::from(units.backend_pid.unsigned_abs()),
        iterations: selects.count + updates.count,
        selects: selects.count,
        updates: updates.count,
        select_max: Duration::from_micros(selects.max_us),
        update_max: Duration::from_micros(updates.max_us),
        select_rows: selects.rows,
        update_rows: updates.rows,
    }
}
