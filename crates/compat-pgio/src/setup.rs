//! `pgdyno pgio setup`: the tables.

use super::{PACK, PREFIX, SetupArgs};
use pgdyno_model::{Exit, Failure};
use pgdyno_output::{Verbosity, answer};
use pgdyno_run::interrupts;
use pgdyno_workload::filling::{Connections, Method};
use pgdyno_workload::loader::{self, How, Request, Watch};
use pgdyno_workload::params::Params;
use pgdyno_workload::resolve;

pub fn open(args: &SetupArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    let conf = args.conf.read()?;
    let target = super::connected(&super::wanted(&conf)?)?;
    let pack = resolve::pack(PACK).map_err(|e| Failure::new(e.to_string()))?;
    let given = [
        format!("tab_prefix={PREFIX}"),
        format!("schemas={}", conf.tables),
        format!("scale={}", conf.scale.blocks),
    ];
    let usage = |e| Failure::with(Exit::Usage, e);
    let params = Params::parse(&pack, None, &given).map_err(usage)?;
    let interrupts = interrupts()?;
    let mut session = target.connect()?;
    let mut progress = verbosity.progress();
    let mut watch = Watch {
        endpoints: &target.endpoints,
        progress: &mut progress,
        interrupts: Some(interrupts),
    };
    let request = Request {
        pack: &pack,
        params: &params,
        // Those that are recognised as pgdyno's own; others are an error that names them.
        replace: conf.recreates,
        drop_tables: &[],
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
