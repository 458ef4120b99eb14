//! The comparison as a table, and the file that keeps it with all that belongs beside it.

mod kept;

use std::fmt::Write;
use std::path::Path;

use pgdyno_platform::host::Host;
use time::OffsetDateTime;

use crate::figures::{self, BenchFigure, Compared};
use crate::measure::Run;
use crate::programs::{BenchProgram, Programs};
use crate::rows::{Goal, Peer, RowBound};
use crate::runner::Measured;
use crate::settings::Settings;
use kept::{EarlierPage, Lines};

/// Everything there is to tell.
pub struct BenchReport<'a> {
    /// How it was measured.
    pub settings: &'a Settings,
    /// By what.
    pub programs: &'a Programs,
    /// On what.
    pub server: String,
    /// What came out.
    pub rows: &'a [Measured],
}

impl BenchReport<'_> {
    /// Every goal: medians, ratio, and whether it is met. Markdown, aligned so that it reads well as
    /// it is.
    pub fn table(&self) -> String {
        markdown(&self.goals())
    }

    fn goals(&self) -> Lines {
        let mut cells = headed(&[
            "row",
            "figure",
            "pgdyno",
            "peer",
            "ratio",
            "goal",
            "met",
            "ratio by round",
            "bare loops",
        ]);
        for measured in self.rows {
            for goal in measured.row.goals {
                cells.push(goal_cells(measured, *goal).to_vec());
            }
        }
        cells
    }

    /// When each row was measured, by what, and how long.
    fn dates(&self) -> Lines {
        let mut cells = headed(&["row", "date", "pgdyno", "runs"]);
        let date = OffsetDateTime::now_utc().date().to_string();
        for measured in self.rows {
            let (seconds, _) = self.settings.of(&measured.row.job);
            let rounds = measured.ours.len();
            let runs = if measured.row.job.workload.is_load() {
                format!("{rounds}")
            } else {
                format!("{rounds} of {seconds} s")
            };
            let pgdyno = self.programs.pgdyno.version().to_owned();
            cells.push(vec![
                measured.row.name.to_owned(),
                date.clone(),
                pgdyno,
                runs,
            ]);
        }
        cells
    }

    /// What the figures consist of, and those without a goal.
    fn parts(&self) -> Lines {
        let mut cells = headed(&[
            "row",
            "figure",
            "pgdyno",
            "peer",
            "ratio",
            "ratio by round",
            "bare loops",
        ]);
        for measured in self.rows {
            let Some((peer, theirs)) = &measured.theirs else {
                continue;
            };
            for figure in BenchFigure::ALL {
                let compared = Compared::new(*figure, &measured.ours, theirs);
                let (low, high) = compared.ratio_range;
                if compared.ratio.is_nan() {
                    continue;
                }
                cells.push(vec![
                    measured.row.name.to_owned(),
                    figure.name().to_owned(),
                    number(compared.ours),
                    format!("{peer} {}", number(compared.theirs)),
                    format!("{:.2}", compared.ratio),
                    format!("{low:.2} – {high:.2}"),
                    bare_loops(measured, *figure, theirs),
                ]);
            }
        }
        cells
    }

    /// Every run, in the order in which they were made.
    fn runs(&self) -> Lines {
        let mut cells = headed(&[
            "row",
            "program",
            "transactions",
            "user CPU s",
            "system CPU s",
            "transactions/s",
            "connecting s",
            "wall s",
            "peak MiB",
        ]);
        for measured in self.rows {
            let mut programs = vec![("pgdyno".to_owned(), &measured.ours)];
            let beside = { measured.theirs.iter() }.chain(&measured.bare);
            let beside = beside.map(|(name, runs)| ((*name).to_owned(), runs));
            let plain =
                { measured.plain.iter() }.map(|(name, runs)| (format!("{name} without TLS"), runs));
            programs.extend(beside.chain(plain));
            for round in 0..measured.ours.len() {
                for (name, runs) in &programs {
                    let run = runs.get(round);
                    cells.extend(run.map(|run| run_cells(measured.row.name, name, run).to_vec()));
                }
            }
        }
        cells
    }

    /// Writes all of it to `path`; what that has of other rows stays.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        // There is none before the first time.
        let earlier = std::fs::read_to_string(path).unwrap_or_default();
        let measured = self.rows.iter().map(|measured| measured.row.name);
        let text = self.text(&EarlierPage::of(earlier, measured.collect()));
        std::fs::write(path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))
    }

    fn text(&self, kept: &EarlierPage<'_>) -> String {
        let host = Host::read();
        let unknown = || "unknown".to_owned();
        let mut text = String::from(
            "<!-- Written by `make bench`; not to be edited. bench/README.md tells how to read it. -->\n\
             # pgdyno beside its peers\n\n",
        );
        let Settings {
            seconds,
            rounds,
            memory_seconds,
            ..
        } = self.settings;
        let facts = [
            ("date", OffsetDateTime::now_utc().date().to_string()),
            ("CPU", host.cpu_model.unwrap_or_else(unknown)),
            ("CPUs", host.cpus.to_string()),
            ("kernel", host.kernel.unwrap_or_else(unknown)),
            ("pgdyno", self.programs.pgdyno.version().to_owned()),
            ("pgbench", self.programs.pgbench.version().to_owned()),
            ("sysbench", version(self.programs.peer(Peer::Sysbench))),
            ("go-ycsb", version(self.programs.peer(Peer::GoYcsb))),
            ("go-tpc", version(self.programs.peer(Peer::GoTpc))),
            (
                "sysbench-tpcc",
                version(self.programs.peer(Peer::SysbenchTpcc)),
            ),
            ("server", self.server.clone()),
            (
                "runs",
                format!(
                    "{rounds} rounds of {seconds} s for each program and row, in turn; memory: one \
                     of {memory_seconds} s; rows of another date (When) as there"
                ),
            ),
        ];
        for (name, fact) in facts {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "- {name}: {fact}");
        }
        for (title, mut table) in [
            (None, self.goals()),
            (Some("When"), self.dates()),
            (Some("All figures"), self.parts()),
            (Some("Every run"), self.runs()),
        ] {
            kept.join(title, &mut table);
            let heading = title.map_or(String::new(), |title| format!("## {title}\n\n"));
            let _ = write!(text, "\n{heading}{}", markdown(&table));
        }
        text
    }
}

/// A table that has its header so far.
fn headed(columns: &[&str]) -> Lines {
    vec![columns.iter().map(|name| (*name).to_owned()).collect()]
}

fn version(program: Result<&dyn BenchProgram, &str>) -> String {
    match program {
        Ok(program) => program.version().to_owned(),
        Err(why) => format!("not measured: {why}"),
    }
}

fn goal_cells(measured: &Measured, goal: Goal) -> [String; 9] {
    let figure = goal.figure;
    let (name, bound) = (figure.name().to_owned(), goal.bound.text());
    let row = measured.row.name.to_owned();
    let dash = || "–".to_owned();
    let is_measured = !measured.ours.is_empty();
    let no_theirs = Vec::new();
    let (peer, theirs) = match (goal.bound, &measured.theirs) {
        (RowBound::ByPlain(_), _) => ("without TLS", measured.plain.first().map(|(_, runs)| runs)),
        (RowBound::ByBare(_), _) => match better_bare(measured, figure) {
            Some((name, runs)) => (*name, Some(runs)),
            None => ("", None),
        },
        (_, Some((peer, runs))) => (*peer, Some(runs)),
        (_, None) => ("", None),
    };
    let theirs = theirs.unwrap_or(&no_theirs);
    let compared = Compared::new(figure, &measured.ours, theirs);
    let (low, high) = compared.ratio_range;
    let has_peer = !theirs.is_empty();
    let beside = match (goal.bound, &measured.theirs) {
        (RowBound::ByPlain(_), _) => tls_of_peer(measured, figure).unwrap_or_else(dash),
        (RowBound::ByBare(_), _) | (_, None) => dash(),
        (_, Some((_, theirs))) => bare_loops(measured, figure, theirs),
    };
    let is_reported = |reported_text: bool, text: String| if reported_text { text } else { dash() };
    let is_alone = matches!(goal.bound, RowBound::Most(_));
    let met = if goal.bound.holds(compared.ours, compared.ratio) {
        "yes"
    } else {
        "no"
    };
    let theirs = match &measured.missing {
        Some(why) => why.clone(),
        None => is_reported(has_peer, format!("{peer} {}", number(compared.theirs))),
    };
    [
        row,
        name,
        is_reported(is_measured, number(compared.ours)),
        theirs,
        is_reported(has_peer, format!("{:.2}", compared.ratio)),
        bound,
        is_reported(is_measured && (has_peer || is_alone), met.to_owned()),
        is_reported(has_peer, format!("{low:.2} – {high:.2}")),
        beside,
    ]
}

/// The bare loop that has less of the figure.
fn better_bare(measured: &Measured, figure: BenchFigure) -> Option<&(&'static str, Vec<Run>)> {
    let median = |runs: &[Run]| figures::median(runs.iter().map(|run| figure.of(run)).collect());
    let bare = measured.bare.iter().filter(|(_, runs)| !runs.is_empty());
    bare.min_by(|(_, a), (_, b)| median(a).total_cmp(&median(b)))
}

/// What each bare loop has, by what the peer has.
fn bare_loops(measured: &Measured, figure: BenchFigure, theirs: &[Run]) -> String {
    let bare = measured.bare.iter().filter_map(|(name, runs)| {
        let ratio = Compared::new(figure, runs, theirs).ratio;
        // Of some figures it says nothing.
        let text = format!("{} {ratio:.2}", name.trim_start_matches("bare "));
        (!ratio.is_nan()).then_some(text)
    });
    let bare: Vec<String> = bare.collect();
    if bare.is_empty() {
        "–".to_owned()
    } else {
        bare.join(", ")
    }
}

/// What TLS costs the peer: its own figure with it by that without.
fn tls_of_peer(measured: &Measured, figure: BenchFigure) -> Option<String> {
    let (peer, encrypted) = measured.theirs.as_ref()?;
    let (_, plain) = measured.plain.get(1)?;
    let ratio = Compared::new(figure, encrypted, plain).ratio;
    Some(format!("{peer} {ratio:.2}"))
}

fn run_cells(row: &str, program: &str, run: &Run) -> [String; 9] {
    [
        row.to_owned(),
        program.to_owned(),
        run.reported.transactions.to_string(),
        format!("{:.3}", run.cpu.user_us as f64 / 1e6),
        format!("{:.3}", run.cpu.system_us as f64 / 1e6),
        number(run.reported.transactions_per_s),
        format!("{:.3}", run.reported.connecting_s),
        format!("{:.3}", run.wall_s),
        format!("{:.1}", run.peak_bytes as f64 / f64::from(1 << 20)),
    ]
}

/// With two decimals, or as a whole number where they would say nothing.
fn number(value: f64) -> String {
    if value < 1000.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.0}")
    }
}

/// A table of which the first line is the header; every column as wide as its widest cell.
pub fn markdown<L: AsRef<[String]>>(cells: &[L]) -> String {
    let columns = cells.first().map_or(0, |line| line.as_ref().len());
    let width = |column: usize| {
        let widths = cells
            .iter()
            .map(|line| line.as_ref()[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let mut text = String::new();
    for (index, line) in cells.iter().enumerate() {
        for (column, cell) in line.as_ref().iter().enumerate() {
            // Writing to a String cannot fail.
            let _ = write!(text, "| {cell:<0$} ", width(column));
        }
        text.push_str("|\n");
        if index == 0 {
            for column in 0..columns {
                let _ = write!(text, "|{}", "-".repeat(width(column) + 2));
            }
            text.push_str("|\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::Reported;
    use crate::rows::{ROWS, RowVia};
    use pgdyno_platform::cpu_time::CpuTime;

    /// One run of a hundred transactions.
    fn run(user_us: u64) -> Vec<Run> {
        let reported = Reported {
            transactions: 100,
            ..Reported::loaded()
        };
        let cpu = CpuTime {
            user_us,
            system_us: 0,
        };
        vec![Run {
            reported,
            cpu,
            server_us: 0,
            wall_s: 1.0,
            peak_bytes: 1,
        }]
    }

    #[test]
    fn tls_is_held_against_pgdyno_without_it_beside_what_it_costs_the_peer() {
        let mut rows = ROWS.iter();
        let row = rows.find(|row| row.job.via == RowVia::Tls).unwrap();
        let measured = Measured {
            row,
            ours: run(1200),
            theirs: Some(("pgbench", run(3000))),
            plain: vec![("pgdyno", run(1000)), ("pgbench", run(2000))],
            bare: Vec::new(),
            missing: None,
        };
        let mut goals = row.goals.iter();
        let goal = goals.find(|goal| matches!(goal.bound, RowBound::ByPlain(_)));
        let cells = goal_cells(&measured, *goal.unwrap());
        let expected = [
            "12.00",
            "without TLS 10.00",
            "1.20",
            "≤ 1.50 × without TLS",
            "yes",
            "1.20 – 1.20",
            "pgbench 1.50",
        ];
        assert_eq!(cells[2..], expected);
    }

    #[test]
    fn the_goal_by_bare_loops_is_held_against_the_better_one() {
        let mut rows = ROWS.iter().filter(|row| row.bare);
        let row = rows.find(|row| row.job.clients == 1).unwrap();
        let measured = Measured {
            row,
            ours: run(1050),
            theirs: Some(("pgbench", run(2000))),
            plain: Vec::new(),
            bare: vec![("bare epoll", run(1200)), ("bare io_uring", run(1000))],
            missing: None,
        };
        let goals = [0, 1].map(|goal| goal_cells(&measured, row.goals[goal]));
        let expected = [
            "10.50",
            "pgbench 20.00",
            "0.53",
            "≤ 0.95 ×",
            "yes",
            "0.53 – 0.53",
            "epoll 0.60, io_uring 0.50",
        ];
        assert_eq!(goals[0][2..], expected);
        let expected = [
            "10.50",
            "bare io_uring 10.00",
            "1.05",
            "≤ 1.08 × bare loop",
            "yes",
            "1.05 – 1.05",
            "–",
        ];
        assert_eq!(goals[1][2..], expected);
    }

    #[test]
    fn a_table_is_aligned_whatever_its_letters() {
        let cells = [["µs", "b"], ["1", "long"]].map(|line| line.map(str::to_owned));
        let expected = "| µs | b    |\n|----|------|\n| 1  | long |\n";
        assert_eq!(markdown(&cells), expected);
    }
}
