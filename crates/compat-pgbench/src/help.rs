//! `--help` and `--version`: pgbench's words, then pgdyno's own options.

use super::flavour::{Flavour, PG_VERSION, PGBENCH};

/// pgbench 18's own help, with `{p}` for the program, `{t}` for the prefix of its tables, and
/// `{steps}` for the default of `--init-steps`.
const PGBENCH_OPTIONS: &str = include_str!("help.txt");

const OWN_OPTIONS: &str = "\
pgdyno's own options:
  --continue-on-error      after an error that is neither a serialization failure nor a
                           deadlock, count the transaction as failed and go on (as in
                           pgbench 19)
  --hdr-log=FILE           write latencies in the HdrHistogram log format, a histogram a
                           second
  --json=FILE              write everything measured as JSON
  --percentiles[=LIST]     show percentiles of the latency in the report and in progress
                           lines (default: 50,90,95,99,99.9)
  --reconnect              connect again when a connection is lost, and report how long
                           that took, instead of ending the client
  --store[=FILE]           keep the run in pgdyno's notebook (see pgdyno ls --help), as
                           PGDYNO_STORE=FILE does
  --warmup=SECONDS         run so long before measuring; shown apart
";

const BATCH_SIZE: &str =
    "  --batch-size=NUM         commit the initial load after every NUM rows (default: all at once)
";

pub fn help(flavour: &Flavour) -> String {
    let mut text = PGBENCH_OPTIONS
        .replace("{p}", flavour.name)
        .replace("{t}", flavour.prefix)
        .replace("{steps}", flavour.init_steps);
    text.push('\n');
    text.push_str(OWN_OPTIONS);
    if flavour.has_batch_size {
        text.push_str(BATCH_SIZE);
    }
    text
}

/// What `--version` prints. Programs read it to know what the tool can do: pgbench's line is
/// pgbench's.
pub fn version(flavour: &Flavour) -> String {
    if flavour == &PGBENCH {
        return format!("pgbench (PostgreSQL) {PG_VERSION}\n");
    }
    let own = env!("CARGO_PKG_VERSION");
    format!("{} (pgdyno {own}, as pgbench {PG_VERSION})\n", flavour.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flavour::YSQL_BENCH;

    #[test]
    fn help_names_the_program_it_was_called_as() {
        let text = help(&YSQL_BENCH);
        assert!(
            text.starts_with("ysql_bench is a benchmarking tool"),
            "{text}"
        );
        assert!(
            text.contains("(default \"dtgp\")")
                && text.contains("\n  --batch-size=NUM         commit")
        );
        let text = help(&PGBENCH);
        assert!(text.contains("(default \"dtgvp\")") && !text.contains("--batch-size"));
        assert!(!text.contains('{'), "a placeholder is left: {text}");
    }
}
