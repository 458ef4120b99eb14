//! `cargo run -q -p pgdyno-fuzz -- TARGET FILE…`: runs a target over files, without libFuzzer: what a crash
//! is looked at with. Without a file it prints the targets and their longest inputs, for scripts/fuzz.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(name) = arguments.next() else {
        for target in pgdyno_fuzz::TARGETS {
            println!("{} {}", target.name, target.bytes_max);
        }
        return ExitCode::SUCCESS;
    };
    let target = match pgdyno_fuzz::find(&name) {
        Ok(target) => target,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    for path in arguments {
        match std::fs::read(&path) {
            Ok(bytes) => (target.run)(&bytes),
            Err(error) => {
                eprintln!("{path}: {error}");
                return ExitCode::from(2);
            }
        }
        println!("{path}: nothing wrong");
    }
    ExitCode::SUCCESS
}
