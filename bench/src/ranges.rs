//! `pgdyno-bench ranges`: rows loaded through several nodes, with nodes that answer at once and throw rows away:
//! how fast pgdyno makes, deals and sends them, and what CPU time of its own that takes.
//!
//! Not for: what a cluster can take.

use std::collections::BTreeMap;
use std::time::Instant;

use pgdyno_database::dialect::Product;
use pgdyno_database::open::{self, Endpoint};
use pgdyno_model::progress::Silent;
use pgdyno_platform::cpu_time;
use pgdyno_spec::TargetSpec;
use pgdyno_workload::filling::{Beside, Connections, Job};
use pgdyno_workload::params::Params;
use pgdyno_workload::recipe::{Recipe, TableRows};
use pgdyno_workload::shipped;
use pgdyno_workload::spread::Spread;
use pgdyno_workload::stop::Stop;

use crate::Error;
use crate::figures::median;
use crate::report::markdown;
use crate::server::Stub;

const NODES: &[usize] = &[2, 8];
const ROUNDS: usize = 3;
/// What loads rows in batches, each by a COPY that is a transaction of its own.
const PRODUCT: &str = "CockroachDB CCL v25.2.0 (x86_64-pc-linux-gnu)";

/// Packs with one large table each: dealt in their order, and by ranges over connections of their own.
const TABLES: &[(&str, &str, &str, &str)] = &[
    ("tpcb", "scale", "10", "pgbench_accounts"),
    ("ycsb", "recordcount", "20000", "usertable"),
];

/// Prints the table.
///
/// # Errors
/// A node does not start, or a load fails.
pub fn open() -> Result<(), Error> {
    let header = [
        "table",
        "rows",
        "nodes",
        "rows/s",
        "MB/s",
        "client CPU, µs/row",
        "client CPUs busy",
    ];
    let mut cells = vec![header.map(str::to_owned)];
    for nodes in NODES {
        let directory = tempfile::tempdir()?;
        let mut endpoints = Vec::new();
        let mut stubs = Vec::new();
        for node in 0..*nodes {
            let own = directory.path().join(node.to_string());
            std::fs::create_dir(&own)?;
            stubs.push(Stub::start(&own.join(".s.PGSQL.5432"))?);
            let url = format!("postgresql://me@/d?host={}", own.display());
            let target = open::existing(&TargetSpec::at(url)).map_err(|e| e.message)?;
            endpoints.extend(target.into_iter().flat_map(|target| target.endpoints));
        }
        for (pack, param, value, name) in TABLES {
            let table = table(pack, param, value, name)?;
            let mut runs = Vec::new();
            for _ in 0..ROUNDS {
                runs.push(run(&endpoints, table.clone())?);
            }
            let of = |figure: &dyn Fn(&Run) -> f64| median(runs.iter().map(figure).collect());
            let rows = table.rows as f64;
            let bytes = bytes_of(&table)?;
            cells.push([
                format!("{name} of {pack}"),
                table.rows.to_string(),
                nodes.to_string(),
                format!("{:.0}", of(&|run| rows / run.wall_s)),
                format!("{:.0}", of(&|run| rows * bytes / run.wall_s / 1e6)),
                format!("{:.3}", of(&|run| run.cpu_us / rows)),
                format!("{:.2}", of(&|run| run.cpu_us / 1e6 / run.wall_s)),
            ]);
        }
    }
    println!("{}", markdown(&cells));
    Ok(())
}

struct Run {
    wall_s: f64,
    cpu_us: f64,
}

fn table(pack: &str, param: &str, value: &str, name: &str) -> Result<TableRows, Error> {
    let pack = shipped::find(pack)?;
    let mut values: BTreeMap<String, String> = Params::default().or_defaults(&pack);
    values.insert(param.to_owned(), value.to_owned());
    let recipe = Recipe::new(&pack, "cockroachdb", &values)?;
    let mut tables = recipe.tables.into_iter();
    let found = tables.find(|table| table.name == name);
    Ok(found.ok_or("no such table")?)
}

/// Bytes of a row, by the last thousand.
fn bytes_of(table: &TableRows) -> Result<f64, Error> {
    let mut out = Vec::new();
    let mut row = table.rows.saturating_sub(1000);
    table
        .clone()
        .push_rows(&mut row, table.rows, usize::MAX, &mut out)?;
    Ok(out.len() as f64 / 1000.0)
}

/// As the loader does it: by ranges where the pack says so, else dealt.
fn run(endpoints: &[Endpoint], mut table: TableRows) -> Result<Run, Error> {
    let product = Product::recognise(PRODUCT);
    let stop = Stop::new(None);
    let job = Job {
        product: &product,
        connections: Connections::default(),
        endpoints,
        record: None,
        stop,
    };
    let (begun, before) = (Instant::now(), cpu_time::process());
    let rows = table.rows;
    let copied = if job.is_for(&table) {
        let mut session = endpoints[0].connect()?;
        let mut beside = Beside {
            progress: &mut Silent,
            means: &mut Vec::new(),
            others: None,
        };
        let filled = job.fill(&mut session, &table, &mut beside);
        filled.map_err(|failure| failure.message)?
    } else {
        let (spread, left_out) = Spread::connect(endpoints);
        let mut spread = spread.ok_or_else(|| left_out.join(", "))?;
        let batch = product.dialect.tables.filling.batch_rows().unwrap_or(rows);
        let copy = format!("COPY {} ({}) FROM STDIN", table.name, table.column_list());
        let copied = spread.copy(&copy, &mut table, 0..rows, batch, stop, &mut |_| {});
        copied.map_err(|failure| failure.message)?
    };
    if copied != rows {
        return Err(format!("the nodes took {copied} rows and not {rows}").into());
    }
    Ok(Run {
        wall_s: begun.elapsed().as_secs_f64(),
        cpu_us: (cpu_time::process() - before).total_us() as f64,
    })
}
