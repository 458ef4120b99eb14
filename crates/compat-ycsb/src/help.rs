//! `--help` of both commands. The words are pgdyno's own.

use super::YcsbTool;

/// The help of a tool, `called` by this name.
pub fn text(tool: YcsbTool, called: &str) -> String {
    match tool {
        YcsbTool::Ycsb => format!(
            "\
YCSB's command with its binding jdbc, on pgdyno's engine

Usage:
  {called} load jdbc [options]     insert recordcount rows into usertable
  {called} run jdbc [options]      run a mix of operations on them

Options:
  -P FILE           read properties from a file (repeatable; later files win)
  -p NAME=VALUE     set a property (repeatable; wins over files)
  -threads N        clients, each with its own connection [default: 1]
  -target N         operations per second over all clients [default: no limit]
  -s                print a status line each status.interval seconds (10) to standard error
  -l LABEL          begin each status line with this
  -load, -t         the same as load and run
  -h, --help        print this

The database: -p db.url=jdbc:postgresql://HOST:PORT/DATABASE -p db.user=NAME -p db.passwd=PASSWORD
The notebook: -p pgdyno.store=FILE keeps the trial; without FILE in the usual notebook

Examples:
  {called} load jdbc -P workloads/workloada -p db.url=jdbc:postgresql://db1/ycsb -threads 8
  {called} run jdbc -P workloads/workloada -p db.url=jdbc:postgresql://db1/ycsb -threads 8 -target 500 -s

{EXITS}

What differs from YCSB, and why: pgdyno help ycsb
"
        ),
        YcsbTool::GoYcsb => format!(
            "\
go-ycsb's command with its database pg, on pgdyno's engine

Usage:
  {called} load pg [flags]     insert recordcount rows into usertable
  {called} run pg [flags]      run a mix of operations on them

Flags:
  -P, --property_file FILE   read properties from a file (repeatable; later files win)
  -p, --prop NAME=VALUE      set a property (repeatable; wins over files)
      --threads N            clients, each with its own connection [default: 1, as threadcount]
      --target N             operations per second over all clients [default: no limit]
      --interval N           print a summary each N seconds [default: 10]
      --table NAME           usertable by default
  -h, --help                 print this

The database: -p pg.host=HOST -p pg.port=PORT -p pg.user=NAME -p pg.password=PASSWORD -p pg.db=NAME
The notebook: -p pgdyno.store=FILE keeps the trial; without FILE in the usual notebook

Examples:
  {called} load pg -P workloads/workloada -p pg.host=db1 -p pg.db=ycsb --threads 8
  {called} run pg -P workloads/workloada -p pg.host=db1 -p pg.db=ycsb --threads 8 -p outputstyle=table

{EXITS}

What differs from go-ycsb, and why: pgdyno help ycsb
"
        ),
    }
}

const EXITS: &str = "\
Exit codes:
  0    the run is over, whatever failed in it; all rows are loaded
  1    the run came to nothing, or rows are missing after a load
  2    the command line or a property is wrong
  3    the server could not be reached, refused the connection, or was lost
  130  interrupted by Ctrl-C (143: by SIGTERM); results so far are printed
  255  counts that cannot be, or results that could not be written";
