//! What is read off the runs, and how runs become one figure.

use crate::measure::Run;

/// A figure that the programs of a row are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BenchFigure {
    /// User and system CPU time per transaction.
    Cpu,
    /// The part spent in the program.
    UserCpu,
    /// The part the kernel spent for it.
    SystemCpu,
    /// The part while transactions are measured, as the program itself accounts it.
    OwnCpu,
    /// Transactions a second, as the program itself says.
    Throughput,
    /// Transactions divided by the time the process lived, connecting taken off: what a program
    /// cannot embellish.
    OutsideThroughput,
    /// Mean latency of a transaction (pgbench tells no median).
    Latency,
    /// How late transactions started on average, by the schedule.
    LagMean,
    /// And at worst.
    LagWorst,
    /// From the program's start to its end.
    Wall,
    /// The most memory that the process had.
    PeakMemory,
    /// CPU time of all the server's processes while the program ran.
    ServerCpu,
    /// The program's CPU time by the server's: what it takes of a CPU for each CPU that the server has busy.
    CpuByServer,
}

impl BenchFigure {
    /// All of them, in the order shown.
    pub const ALL: &[BenchFigure] = &[
        BenchFigure::Cpu,
        BenchFigure::UserCpu,
        BenchFigure::SystemCpu,
        BenchFigure::OwnCpu,
        BenchFigure::Throughput,
        BenchFigure::OutsideThroughput,
        BenchFigure::Latency,
        BenchFigure::LagMean,
        BenchFigure::LagWorst,
        BenchFigure::Wall,
        BenchFigure::PeakMemory,
        BenchFigure::ServerCpu,
        BenchFigure::CpuByServer,
    ];

    /// As shown, with its unit.
    pub fn name(self) -> &'static str {
        match self {
            BenchFigure::Cpu => "client CPU, µs/transaction",
            BenchFigure::UserCpu => "… user",
            BenchFigure::SystemCpu => "… system",
            BenchFigure::OwnCpu => "client CPU, µs/transaction, own report",
            BenchFigure::Throughput => "transactions/s, own report",
            BenchFigure::OutsideThroughput => "… from outside",
            BenchFigure::Latency => "latency, µs, mean",
            BenchFigure::LagMean => "schedule lag, µs, mean",
            BenchFigure::LagWorst => "schedule lag, µs, worst",
            BenchFigure::Wall => "wall time, s",
            BenchFigure::PeakMemory => "peak memory, MiB",
            BenchFigure::ServerCpu => "server CPU, s",
            BenchFigure::CpuByServer => "client CPU by server CPU",
        }
    }

    /// Of one run, in the unit of its name; NaN where the program does not tell.
    pub fn of(self, run: &Run) -> f64 {
        let transactions = run.reported.transactions as f64;
        match self {
            BenchFigure::Cpu => run.cpu.total_us() as f64 / transactions,
            BenchFigure::UserCpu => run.cpu.user_us as f64 / transactions,
            BenchFigure::SystemCpu => run.cpu.system_us as f64 / transactions,
            BenchFigure::OwnCpu => run.reported.own_cpu_us,
            BenchFigure::Throughput => run.reported.transactions_per_s,
            BenchFigure::OutsideThroughput => {
                transactions / (run.wall_s - run.reported.connecting_s)
            }
            BenchFigure::Latency => run.reported.latency_us,
            BenchFigure::LagMean => run.reported.lag_us.0,
            BenchFigure::LagWorst => run.reported.lag_us.1,
            BenchFigure::Wall => run.wall_s,
            BenchFigure::PeakMemory => run.peak_bytes as f64 / f64::from(1 << 20),
            BenchFigure::ServerCpu => run.server_us as f64 / 1e6,
            BenchFigure::CpuByServer => run.cpu.total_us() as f64 / run.server_us as f64,
        }
    }
}

/// A figure of one row.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Median of pgdyno's runs.
    pub ours: f64,
    /// Median of the peer's runs.
    pub theirs: f64,
    /// The one divided by the other.
    pub ratio: f64,
    /// The lowest and the highest ratio of two runs of the same round: how much to trust it.
    pub ratio_range: (f64, f64),
}

impl Compared {
    /// Of the runs of a row; there is at least one of each.
    pub fn new(figure: BenchFigure, ours: &[Run], theirs: &[Run]) -> Self {
        let of = |runs: &[Run]| -> Vec<f64> { runs.iter().map(|run| figure.of(run)).collect() };
        let (ours, theirs) = (of(ours), of(theirs));
        let ratios = ours.iter().zip(&theirs).map(|(our, their)| our / their);
        let ratio_range = ratios.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), ratio| {
            (low.min(ratio), high.max(ratio))
        });
        let (ours, theirs) = (median(ours), median(theirs));
        Self {
            ours,
            theirs,
            ratio: ours / theirs,
            ratio_range,
        }
    }
}

/// The middle value, or the mean of the two in the middle; NaN of nothing.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => values[middle],
        _ => (values[middle - 1] + values[middle]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::Reported;
    use pgdyno_platform::cpu_time::CpuTime;

    fn run(user_us: u64, system_us: u64) -> Run {
        Run {
            reported: Reported {
                transactions: 100,
                failed: 0,
                transactions_per_s: 50.0,
                connecting_s: 1.0,
                latency_us: 7.0,
                own_cpu_us: 6.0,
                lag_us: (8.0, 9.0),
            },
            cpu: CpuTime { user_us, system_us },
            wall_s: 5.0,
            peak_bytes: 3 << 20,
            server_us: 4000,
        }
    }

    #[test]
    fn each_figure_is_what_its_name_says() {
        let run = run(300, 700);
        let figures: Vec<f64> = BenchFigure::ALL
            .iter()
            .map(|figure| figure.of(&run))
            .collect();
        let expected = [
            10.0, 3.0, 7.0, 6.0, 50.0, 25.0, 7.0, 8.0, 9.0, 5.0, 3.0, 0.004, 0.25,
        ];
        assert_eq!(figures, expected);
    }

    #[test]
    fn the_ratio_is_that_of_the_medians_and_the_range_that_of_the_rounds() {
        let ours = [run(100, 0), run(900, 0), run(200, 0)];
        let theirs = [run(400, 0), run(300, 0), run(500, 0)];
        let compared = Compared::new(BenchFigure::Cpu, &ours, &theirs);
        assert_eq!((compared.ours, compared.theirs), (2.0, 4.0));
        assert_eq!(compared.ratio, 0.5);
        assert_eq!(compared.ratio_range, (0.25, 3.0));
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
        assert_eq!(median(vec![4.0, 1.0, 2.0, 9.0]), 3.0);
        assert!(median(vec![]).is_nan());
    }
}
