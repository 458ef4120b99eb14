//! pgdyno: loads, drives, watches, keeps and explains databases that speak PostgreSQL's protocol.

mod doors;
mod exit;
mod plan;
mod report;
mod say;
mod target;
mod validity;
mod workload;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = doors::Cli::parse();
    match doors::open(cli) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            say::remark!("{failure}");
            failure.exit.into()
        }
    }
}
