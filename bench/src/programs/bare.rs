//! The loops that do nothing but send and receive (`crate::bare`), as programs of their own: what no
//! load generator on this machine can be cheaper than.

use std::path::PathBuf;
use std::process::Command;

use super::{BenchProgram, Reported};
use crate::Error;
use crate::rows::{Job, RowMode, RowVia, Workload};
use crate::server::Bed;

/// One of the loops.
pub struct Bare {
    program: PathBuf,
    io: &'static str,
    name: &'static str,
}

impl Bare {
    /// With epoll and with io_uring.
    pub fn both() -> Result<[Self; 2], Error> {
        let program = std::env::current_exe()?;
        let of = |io, name| Self {
            program: program.clone(),
            io,
            name,
        };
        Ok([of("epoll", "bare epoll"), of("uring", "bare io_uring")])
    }
}

impl BenchProgram for Bare {
    fn name(&self) -> &'static str {
        self.name
    }

    fn version(&self) -> &str {
        ""
    }

    fn command(&self, job: &Job, bed: &Bed, seconds: u32) -> Command {
        let mut command = Command::new(&self.program);
        let place = match job.via {
            RowVia::Tcp => format!("127.0.0.1:{}", bed.port()),
            RowVia::Socket | RowVia::Stub | RowVia::Tls | RowVia::TlsOff => {
                bed.socket(job.via).display().to_string()
            }
        };
        let script = match (job.workload, job.mode) {
            (Workload::Tpcb, RowMode::Prepared) => "tpcb",
            (Workload::Tpcb, RowMode::Simple) => "tpcb-simple",
            _ => "select",
        };
        let numbers = [job.clients, seconds, crate::server::ACCOUNTS];
        command.args(["bare", self.io, &place, script]);
        command.args(numbers.map(|number| number.to_string()));
        command.args(job.rate.map(|rate| rate.to_string()));
        command
    }

    fn read(&self, output: &str) -> Result<Reported, String> {
        let mut words = output.split_whitespace().map(str::parse::<f64>);
        let (
            Some(Ok(transactions)),
            Some(Ok(seconds)),
            Some(Ok(connecting_s)),
            Some(Ok(latency_us)),
        ) = (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(format!("the bare loop printed {output:?}"));
        };
        Ok(Reported {
            transactions: transactions as u64,
            failed: 0,
            transactions_per_s: transactions / seconds,
            connecting_s,
            latency_us,
            own_cpu_us: f64::NAN,
            lag_us: (f64::NAN, f64::NAN),
        })
    }
}
