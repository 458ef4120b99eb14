//! Whether CPUs of this host were slowed down for heat in a trial, as the kernel counts it (x86:
//! Documentation/admin-guide/thermal, `core_throttle_count`). Other hosts and most virtual machines do not say.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use pgdyno_model::{Finding, Note, Observer, Outcome, Severity};
use pgdyno_spec::text;
use serde::{Deserialize, Serialize};

use super::{Begun, Companion, Ending, Scene};

const CPUS: &str = "/sys/devices/system/cpu";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Heat {
    throttled_cpus: u64,
    /// Of the CPU that was throttled most often.
    times_max: u64,
}

impl Finding for Heat {
    const NAME: &'static str = "heat";
}

/// How often each CPU was throttled since the host started.
struct Throttled(BTreeMap<String, u64>);

pub fn begin<'a>(_scene: &mut Scene<'a>) -> Begun<'a> {
    let before = Throttled::read(Path::new(CPUS));
    if before.0.is_empty() {
        return Ok(None);
    }
    Ok(Some(Box::new(before)))
}

impl Observer<Outcome> for Throttled {
    fn begun(&mut self, _started: SystemTime) {
        *self = Self::read(Path::new(CPUS));
    }
}

impl Companion for Throttled {
    fn end(self: Box<Self>, end: &mut Ending<'_>) {
        if let Some(heat) = self.until(&Self::read(Path::new(CPUS))) {
            end.notes.push(heat.note());
            end.findings.put(&heat);
        }
    }
}

impl Throttled {
    fn read(cpus: &Path) -> Self {
        let folders = fs::read_dir(cpus).into_iter().flatten().flatten();
        let counts = folders.filter_map(|folder| {
            let file = folder.path().join("thermal_throttle/core_throttle_count");
            let count = fs::read_to_string(file).ok()?.trim().parse().ok()?;
            Some((folder.file_name().into_string().ok()?, count))
        });
        Self(counts.collect())
    }

    fn until(&self, later: &Self) -> Option<Heat> {
        let grown = self.0.iter().filter_map(|(cpu, before)| {
            let times = later.0.get(cpu)?.checked_sub(*before)?;
            (times > 0).then_some(times)
        });
        let grown: Vec<u64> = grown.collect();
        Some(Heat {
            throttled_cpus: grown.len() as u64,
            times_max: grown.into_iter().max()?,
        })
    }
}

impl Heat {
    fn note(self) -> Note {
        let cpus = text::plural(self.throttled_cpus, "CPU");
        let times = text::plural(self.times_max, "time");
        Note::new(
            "cpu-throttled",
            Severity::Warning,
            format!("{cpus} of pgdyno's host slowed down for heat, one of them {times}"),
            "cool the host, or compare only with trials that have this note, too",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of CPUs with these counts; CPU 9 says nothing.
    fn throttled(counts: &[u64]) -> Throttled {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("cpu9")).unwrap();
        for (cpu, count) in counts.iter().enumerate() {
            let folder = dir.path().join(format!("cpu{cpu}/thermal_throttle"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("core_throttle_count"), format!("{count}\n")).unwrap();
        }
        Throttled::read(dir.path())
    }

    #[test]
    fn cpus_that_slowed_down_have_a_note_that_says_how_many_and_how_often() {
        let heat = throttled(&[5, 0, 7])
            .until(&throttled(&[6, 0, 21]))
            .unwrap();
        assert_eq!((heat.throttled_cpus, heat.times_max), (2, 14));
        assert_eq!(
            heat.note().sentence,
            "2 CPUs of pgdyno's host slowed down for heat, one of them 14 times"
        );
    }

    #[test]
    fn what_was_throttled_before_the_trial_is_nothing() {
        assert_eq!(throttled(&[5, 7]).until(&throttled(&[5, 7])), None);
        // A CPU that came or went has no difference.
        assert_eq!(throttled(&[5]).until(&throttled(&[5, 7])), None);
        assert!(throttled(&[]).0.is_empty());
    }
}
