//! `--help`, `SCRIPT help`, the version. The words are pgdyno's own.

use super::known::{KNOWN, Of};
use super::script::SysbenchScript;
use super::typed::TypedOptions;

/// The first line of sysbench's output, which is that of `--version` too: its version, and who prints it.
pub fn banner(typed: &TypedOptions) -> String {
    let version = match typed.text("pgdyno-version") {
        "master" => "1.1.0",
        _ => "1.0.20",
    };
    let own = env!("CARGO_PKG_VERSION");
    format!("sysbench {version} (using pgdyno {own})\n")
}

/// The options of a script.
pub fn script(script: SysbenchScript) -> String {
    let own = KNOWN
        .iter()
        .filter(|known| !matches!(known.of, Of::All | Of::Nothing) && known.is_of(script));
    let options: String = own.map(|known| known.shown()).collect();
    format!("{} options:\n{options}\n", script.name())
}

/// `--help`; the program is `called` by this name.
pub fn text(called: &str) -> String {
    let general = KNOWN.iter().filter(|known| known.of == Of::All);
    let general = general.filter(|known| known.help != "not in pgdyno");
    let options: String = general.map(|known| known.shown()).collect();
    let scripts = SysbenchScript::ALL.map(SysbenchScript::name).join("\n  ");
    format!(
        "\
sysbench's OLTP scripts and sysbench-tpcc for PostgreSQL, on pgdyno's engine

Usage:
  {called} SCRIPT --db-driver=pgsql [options] prepare    create sbtest1, sbtest2, … and fill them
  {called} SCRIPT --db-driver=pgsql [options] run        measure
  {called} SCRIPT --db-driver=pgsql [options] cleanup    drop them
  {called} tpcc --db-driver=pgsql [options] check        the conditions of TPC-C
  {called} SCRIPT help                                   the options of a script

Scripts:
  {scripts}

Options (--name=value; \"_\" is as good as \"-\"):
{options}
Examples:
  {called} oltp_read_write --db-driver=pgsql --pgsql-host=db1 --tables=8 --table-size=100000 prepare
  {called} oltp_read_write --db-driver=pgsql --pgsql-host=db1 --tables=8 --table-size=100000 \\
      --threads=16 --time=30 --report-interval=5 run
  {called} tpcc --db-driver=pgsql --pgsql-host=db1 --scale=10 --trx-level=RC prepare

Without --db-driver=pgsql it is MySQL's, as in sysbench, and fails.
All options of a script must be the same for prepare and run, as in sysbench.

Exit codes:
  0    done
  1    an error that is not a conflict of transactions, or a command line that is wrong
  130  interrupted by Ctrl-C (143: by SIGTERM); results so far are printed

What differs from sysbench, and why: pgdyno help sysbench
"
    )
}
