//! One run of one program: what it did and what it cost.

use std::io::{self, Read};
use std::process::{Child, ExitStatus, Stdio};
use std::time::Instant;

use pgdyno_platform::child::{Signal, die_with_parent};
use pgdyno_platform::cpu_time::{self, CpuTime};

use crate::Error;
use crate::programs::{Program, Reported};
use crate::rows::Job;

/// A finished run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// What the program says.
    pub reported: Reported,
    /// CPU time of the whole process from exec to exit, children included, as the kernel says.
    pub cpu: CpuTime,
    /// From before it was started until it had ended, in seconds.
    pub wall_s: f64,
}

impl Run {
    /// `program` does `job`, and nothing else is started meanwhile.
    pub fn of(program: &dyn Program, job: &Job, url: &str, seconds: u32) -> Result<Self, Error> {
        let name = program.name();
        let mut command = program.command(job, url, seconds);
        // The URL says it all; what the user's environment says would differ by program.
        for (variable, _) in std::env::vars_os() {
            let text = variable.to_string_lossy();
            if text.starts_with("PG") && !text.starts_with("PGDYNO") {
                command.env_remove(variable);
            }
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        die_with_parent(&mut command, Signal::Kill);

        let cpu_before = cpu_time::ended_children();
        let begun = Instant::now();
        let child = command.spawn();
        let child = child.map_err(|e| format!("cannot start {name}: {e}"))?;
        let (status, output, errors) = wait(child)?;
        let wall_s = begun.elapsed().as_secs_f64();
        let cpu = cpu_time::ended_children() - cpu_before;

        if !status.success() {
            return Err(format!("{name} failed ({status}): {}", errors.trim()).into());
        }
        let reported = program.read(&output)?;
        if reported.failed > 0 {
            let failed = reported.failed;
            let text = format!("{failed} transactions of {name} failed: it did other work then");
            return Err(text.into());
        }
        if reported.transactions == 0 {
            return Err(format!("{name} did no transaction").into());
        }
        Ok(Self {
            reported,
            cpu,
            wall_s,
        })
    }
}

/// Waits for the end of the program; what it wrote to standard output and standard error.
fn wait(mut child: Child) -> io::Result<(ExitStatus, String, String)> {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let errors = std::thread::spawn(move || read(stderr));
    let output = read(stdout);
    let status = child.wait()?;
    // The thread only reads; a panic in it would be a lost message and no more.
    Ok((status, output, errors.join().unwrap_or_default()))
}

fn read(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // What could be read before an error is all there is to show.
        let _ = pipe.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
