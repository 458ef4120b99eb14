//! `--pin`: each thread of the clients on a CPU of its own.

use std::io;

use pgdyno_platform::affinity;
use pgdyno_spec::{Exit, Failure, TrialSpec, text};

/// The CPUs that a trial's threads are kept on, if they are, in the order in which they are dealt.
///
/// # Errors
/// There are more threads than CPUs, or the system does not say which CPUs pgdyno may use.
pub fn cpus(spec: &TrialSpec) -> Result<Option<Vec<usize>>, Failure> {
    if spec.pin {
        for_threads(spec.threads() as usize, affinity::spread()).map(Some)
    } else {
        Ok(None)
    }
}

fn for_threads(threads: usize, cpus: io::Result<Vec<usize>>) -> Result<Vec<usize>, Failure> {
    let cpus = cpus.map_err(|error| {
        let text = format!("--pin: the system does not say which CPUs pgdyno may use: {error}");
        Failure::new(text).hint("without --pin threads run where the kernel puts them")
    })?;
    let count = cpus.len();
    if threads <= count {
        return Ok(cpus);
    }
    let text = format!(
        "--pin keeps each thread on a CPU of its own, and {threads} threads have {}",
        text::plural(count as u64, "CPU")
    );
    Err(Failure::with(Exit::Usage, text).hint(format!("-j {count}, or leave --pin out")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_a_cpu_each_or_are_refused() {
        assert_eq!(for_threads(2, Ok(vec![4, 6, 5])).unwrap(), [4, 6, 5]);
        let few = for_threads(3, Ok(vec![0, 1])).unwrap_err();
        assert_eq!(few.exit, Exit::Usage);
        assert!(few.message.contains("3 threads have 2 CPUs"), "{few}");
        assert!(few.hints[0].contains("-j 2"), "{few}");
    }

    #[test]
    fn a_system_that_does_not_say_is_named() {
        let unknown = for_threads(1, Err(io::ErrorKind::PermissionDenied.into())).unwrap_err();
        assert!(unknown.message.contains("which CPUs"), "{unknown}");
        assert!(unknown.message.contains("permission denied"), "{unknown}");
    }
}
