//! `--help`, and the usage that a wrong flag is answered with, in the form that cobra and pflag
//! give them. The words are pgdyno's own.

use super::flags::{Flag, Verb};
use super::generator::TransactionGenerator;

/// What the program calls itself: `workload`, `pgdyno workload`.
#[derive(Debug, Clone, Copy)]
pub struct OptionName<'a>(pub &'a str);

impl OptionName<'_> {
    pub fn help(self) -> String {
        let program = self.0;
        format!(
            "\
cockroach's workload command, on pgdyno's engine

Usage:
  {program} [command]

Available Commands:
  init        {}
  run         {}
  check       {}

Flags:
  -h, --help   help for workload

Examples:
  {program} init ycsb 'postgresql://root@localhost:26257?sslmode=disable'
  {program} run ycsb --concurrency 1 --duration 60s 'postgresql://root@localhost:26257?sslmode=disable'

Use \"{program} [command] --help\" for more information about a command.
",
            short(Verb::Init),
            short(Verb::Run),
            short(Verb::Check),
        )
    }

    /// Of a verb without a workload.
    pub fn verb_help(self, verb: Verb) -> String {
        let (program, name) = (self.0, verb.name());
        let workloads = TransactionGenerator::ALL.into_iter();
        let workloads: String = workloads
            .map(|its| format!("  {:<19}{}\n", its.name(), its.summary()))
            .collect();
        format!(
            "\
{}

Usage:
  {program} {name} [command]

Available Commands:
{workloads}
Flags:
  -h, --help   help for {name}

Use \"{program} {name} [command] --help\" for more information about a command.
",
            short(verb)
        )
    }

    pub fn workload_help(self, verb: Verb, generator: TransactionGenerator) -> String {
        let tables = match generator {
            TransactionGenerator::Tpcc => "warehouse and the eight others of TPC-C",
            TransactionGenerator::Movr => "users and the five others of MovR",
            TransactionGenerator::Ledger => "customer and the three others",
            TransactionGenerator::Insights => {
                "insights_workload_table_0 and the others of --table-count"
            }
            other => other.table().unwrap_or_default(),
        };
        let notes = match verb {
            Verb::Init if tables.is_empty() => "Makes the database: there are no tables.".to_owned(),
            Verb::Init => format!(
                "Makes and fills the table {tables}. URLs are those of the server's nodes, over which\nrows are loaded; without one it is postgres://root@localhost:26257?sslmode=disable."
            ),
            Verb::Run => "Workers are dealt to the URLs in turn; without one it is\npostgres://root@localhost:26257?sslmode=disable. Latencies have a resolution of 1 µs, and the\nsummary is printed however the run ends.".to_owned(),
            Verb::Check => match generator {
                TransactionGenerator::Ycsb => "Looks whether usertable holds the rows that init has loaded: how many, by which keys,\nwith values in all columns.".to_owned(),
                TransactionGenerator::Bank => "Looks whether all accounts are there and their balances add up to 0.".to_owned(),
                TransactionGenerator::Tpcc => "Looks whether TPC-C's conditions 3.3.2.1 to 3.3.2.12 hold: 6, 10 and 12 only with\n--expensive-checks, 11 for districts without a delivery.".to_owned(),
                other => format!(
                    "There is nothing to check: rows of {} may have any value.",
                    other.name()
                ),
            },
        };
        let summary = generator.summary();
        format!("{summary}\n\n{notes}\n\n{}", self.usage(verb, generator))
    }

    /// The usage of a workload's verb, without a line of prose.
    pub fn usage(self, verb: Verb, generator: TransactionGenerator) -> String {
        let (program, name, workload) = (self.0, verb.name(), generator.name());
        let mut text =
            format!("Usage:\n  {program} {name} {workload} [flags] [URL...]\n\nFlags:\n");
        let rows = crate::flags::all(generator, verb).into_iter();
        let rows = rows.map(|flag| (flag, flag.help(verb)));
        text.push_str(&table(rows, workload));
        text
    }
}

pub fn cockroach(called: &str) -> String {
    format!(
        "\
Commands of cockroach that pgdyno has, on pgdyno's engine and PostgreSQL

Usage:
  {called} [command]

Available Commands:
  start-single-node  start pgdyno's private PostgreSQL server at cockroach's port
  start              the same
  workload           init, run and check a workload

Flags:
  -h, --help   help for cockroach

Use \"{called} [command] --help\" for more information about a command.
"
    )
}

pub fn start(called: &str, word: &str, flags: &[&'static Flag]) -> String {
    let rows = flags.iter().map(|flag| (*flag, flag.help(Verb::Init)));
    let table = table(rows, word);
    format!(
        "Starts pgdyno's private PostgreSQL server (not CockroachDB) at 127.0.0.1:26257.\n\nUsage:\n  \
         {called} {word} --insecure [flags]\n\nFlags:\n{table}"
    )
}

/// Flags and what they do, in two columns, with `--help` among them.
fn table(flags: impl Iterator<Item = (&'static Flag, String)>, of: &str) -> String {
    let left = |flag: &Flag| format!("      --{} {}", flag.name, flag.kind.word());
    let mut rows: Vec<(String, String)> = flags
        .map(|(flag, help)| (left(flag).trim_end().to_owned(), help))
        .collect();
    let help = ("  -h, --help".to_owned(), format!("help for {of}"));
    let at = rows.partition_point(|(left, _)| left.trim_start() < "--help");
    rows.insert(at, help);
    let widths = rows.iter().map(|(left, _)| left.chars().count());
    let width = widths.max().unwrap_or(0) + 3;
    let mut text = String::new();
    for (left, right) in rows {
        text.push_str(&format!("{left:<width$}{right}\n"));
    }
    text
}

fn short(verb: Verb) -> &'static str {
    match verb {
        Verb::Init => "make and fill a workload's tables",
        Verb::Run => "run a workload's operations against a server",
        Verb::Check => "look whether a workload's tables hold what they ought to",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `cockroach workload run ycsb --help` lays its lines out (19.1).
    #[test]
    fn flags_are_laid_out_as_pflag_lays_them_out() {
        let usage = OptionName("workload").usage(Verb::Run, TransactionGenerator::Ycsb);
        let column = usage.find("Number of workers").unwrap();
        let line_start = usage[..column].rfind('\n').unwrap() + 1;
        let column = column - line_start;
        assert!(usage.starts_with(
            "Usage:\n  workload run ycsb [flags] [URL...]\n\nFlags:\n      --concurrency int"
        ));
        let flags = usage.lines().skip(4).filter(|line| !line.is_empty());
        for line in flags {
            let left: String = line.chars().take(column - 3).collect();
            let gap: String = line.chars().skip(column - 3).take(3).collect();
            assert!(
                left.starts_with("      --") || left.starts_with("  -h, --"),
                "{line}"
            );
            assert_eq!(gap, "   ", "{line}");
        }
        assert!(usage.contains(" Which mix of operations: A to F, or CUSTOM (default \"B\")\n"));
        assert!(usage.contains(" (implies --init)\n"));
        let names = usage
            .lines()
            .skip(4)
            .map(|line| line.trim_start().trim_start_matches("-h, "));
        assert!(names.is_sorted(), "{usage}");
        assert!(
            !OptionName("workload")
                .usage(Verb::Check, TransactionGenerator::Ycsb)
                .contains("--duration")
        );
    }
}
