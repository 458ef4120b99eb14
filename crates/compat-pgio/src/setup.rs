//! `pgdyno pgio setup`: the tables.

use super::created::{self, BaseTimed};
use super::lines::{Align, aligned};
use super::{PACK, PREFIX, SetupArgs, stock};
use pgdyno_database::admin;
use pgdyno_output::{Verbosity, answer};
use pgdyno_run::interrupts;
use pgdyno_session::Session;
use pgdyno_spec::{Exit, Failure};
use pgdyno_workload::filling::{Connections, Method};
use pgdyno_workload::loader::{self, How, Request, Watch};
use pgdyno_workload::params::Params;
use pgdyno_workload::resolve;

pub fn open(args: &SetupArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    let conf = args.conf.read()?;
    let folder = super::folder(&args.out)?;
    let target = super::connected(&super::wanted(&conf)?)?;
    let pack = resolve::pack(PACK).map_err(|e| Failure::new(e.to_string()))?;
    let given = [
        format!("tab_prefix={PREFIX}"),
        format!("schemas={}", conf.tables),
        format!("scale={}", conf.scale.blocks),
        "base=true".to_owned(),
    ];
    let usage = |e| Failure::with(Exit::Usage, e);
    let params = Params::parse(&pack, None, &given).map_err(usage)?;
    let interrupts = interrupts()?;
    let mut session = target.connect()?;
    let stock = if conf.recreates {
        stock::find(&mut session, conf.tables)?
    } else {
        Vec::new()
    };
    if !stock.is_empty() {
        let names = stock.join(", ");
        pgdyno_output::remark!("pgdyno: note: replaces tables of pgio's own setup: {names}");
    }
    answer!(
        "\nJob info:      Loading {} scale into {} schemas as per pgio.conf->NUM_SCHEMAS.\n\
         Batching info: Loading {} schemas per batch as per pgio.conf->NUM_THREADS.",
        conf.scale.text,
        conf.tables,
        conf.threads
    )?;
    let base_was_there = created::has_base(&mut session);
    let mut progress = verbosity.progress();
    let mut progress = BaseTimed {
        inner: &mut progress,
        since: None,
        took: None,
    };
    let mut watch = Watch {
        endpoints: &target.endpoints,
        progress: &mut progress,
        interrupts: Some(interrupts),
        others: None,
    };
    let request = Request {
        experiment: None,
        pack: &pack,
        params: &params,
        // Those that are recognised as pgdyno's own, or pgio's; others are an error that names them.
        replace: conf.recreates,
        drop_tables: &stock,
        connections: Connections {
            jobs: Some(conf.threads as usize),
            method: Method::Copy,
        },
    };
    let loaded = loader::load(&mut session, &request, &mut watch)
        .map_err(|failure| target.explain(failure))?;
    for remark in loaded.means.iter().chain(&loaded.remarks) {
        pgdyno_output::remark!("pgdyno: note: {remark}");
    }
    if let Some(took) = progress.took {
        answer!("Base table loading time: {} seconds.", took.as_secs())?;
        let text = created::base_load(&mut session, base_was_there, conf.scale.blocks, took);
        folder.write("pgio_base_table_load.out", &text)?;
    }
    answer!(
        "\nGroup data loading phase complete.         Elapsed: {} seconds.",
        loaded.elapsed.as_secs()
    )?;
    if let Some(sizes) = sizes(&mut session) {
        folder.write("pgio_data_load_table_sizes.out", &sizes)?;
    }
    let tables = match conf.tables {
        1 => format!("{PREFIX}1"),
        n => format!("{PREFIX}1 to {PREFIX}{n}"),
    };
    let rows = conf.scale.blocks;
    match loaded.how {
        How::LoadedNow => answer!(
            "{tables}: {rows} rows each, loaded in {:.1} s",
            loaded.elapsed.as_secs_f64()
        )?,
        _ => answer!("{tables}: {rows} rows each, there already")?,
    }
    Ok(Exit::Ok)
}

/// The sizes of all tables as psql shows them; `None` where the server does not tell.
fn sizes(session: &mut Session) -> Option<String> {
    const SIZES: &str = "SELECT '\"' || n.nspname || '\".\"' || c.relname || '\"', \
        pg_size_pretty(pg_table_size(c.oid)), pg_size_pretty(pg_indexes_size(c.oid)), \
        pg_size_pretty(pg_total_relation_size(c.oid)) \
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
        WHERE c.relkind IN ('r', 'v', 'p') ORDER BY pg_total_relation_size(c.oid) DESC";
    let rows = admin::rows(session, SIZES).ok()?;
    let row = |row: Vec<Option<String>>| row.into_iter().map(Option::unwrap_or_default).collect();
    let rows: Vec<Vec<String>> = rows.into_iter().map(row).collect();
    let columns = ["table_name", "table_size", "indexes_size", "total_size"];
    Some(aligned(&columns.map(|name| (name, Align::Left)), &rows))
}
