//! Which generator this is, and of which job, by the scheduler's environment: Kubernetes, Slurm, MPI.
//!
//! The names of the variables are those of their manuals, and were seen: Slurm 22.05 (PMI_RANK with its
//! `--mpi=pmi2`), Open MPI 4.1 (with PMIX_RANK beside its own), Jobs of Kubernetes 1.37.

use pgdyno_spec::{Exit, Failure};

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub generator: Option<u32>,
    /// What tells its job from others.
    pub job: Option<String>,
}

/// What the environment says. The innermost launcher comes first: mpirun inside of a Slurm job leaves
/// Slurm's variables as they were.
///
/// # Errors
/// A variable has something that is no number.
pub fn of(var: impl Fn(&str) -> Option<String>) -> Result<Place, Failure> {
    let number = |name: &str| {
        let text = var(name).filter(|text| !text.is_empty());
        let read = |text: String| {
            let wrong = || format!("{name}={text} is no number of a generator");
            text.parse::<u32>()
                .map_err(|_| Failure::with(Exit::Usage, wrong()).hint("--generator I says it, too"))
        };
        text.map(read).transpose()
    };
    for name in ["OMPI_COMM_WORLD_RANK", "JOB_COMPLETION_INDEX"] {
        if let Some(generator) = number(name)? {
            return Ok(Place {
                generator: Some(generator),
                job: None,
            });
        }
    }
    if let Some(task) = number("SLURM_PROCID")? {
        let job = var("SLURM_ARRAY_JOB_ID").or_else(|| var("SLURM_JOB_ID"));
        let array = number("SLURM_ARRAY_TASK_ID")?;
        let generator = match array {
            None => task,
            Some(element) => {
                let first = number("SLURM_ARRAY_TASK_MIN")?.unwrap_or(0);
                let step = number("SLURM_ARRAY_TASK_STEP")?.unwrap_or(1).max(1);
                let tasks = number("SLURM_NTASKS")?.unwrap_or(1);
                element.saturating_sub(first) / step * tasks + task
            }
        };
        // A job's script may have several steps, and a job that is requeued begins anew; elements of an
        // array are requeued each for itself.
        let more = |name| var(name).filter(|text| !text.is_empty());
        let job = job.map(|job| match array {
            Some(_) => format!("slurm-{job}"),
            None => {
                let step = more("SLURM_STEP_ID").map_or(String::new(), |s| format!(".{s}"));
                let again = more("SLURM_RESTART_COUNT").filter(|count| count != "0");
                let again = again.map_or(String::new(), |count| format!("-again-{count}"));
                format!("slurm-{job}{step}{again}")
            }
        });
        return Ok(Place {
            generator: Some(generator),
            job,
        });
    }
    for name in ["PMI_RANK", "PMIX_RANK"] {
        if let Some(generator) = number(name)? {
            return Ok(Place {
                generator: Some(generator),
                job: None,
            });
        }
    }
    Ok(Place::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(vars: &[(&str, &str)]) -> Place {
        let var = |name: &str| {
            let found = vars.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        of(var).unwrap()
    }

    #[test]
    fn schedulers_number_generators() {
        type Case<'a> = (&'a [(&'a str, &'a str)], Option<u32>, Option<&'a str>);
        let cases: [Case<'_>; 9] = [
            (&[], None, None),
            (&[("JOB_COMPLETION_INDEX", "3")], Some(3), None),
            (
                &[
                    ("SLURM_PROCID", "2"),
                    ("SLURM_JOB_ID", "77"),
                    ("SLURM_STEP_ID", "0"),
                ],
                Some(2),
                Some("slurm-77.0"),
            ),
            (
                &[
                    ("SLURM_PROCID", "2"),
                    ("SLURM_JOB_ID", "77"),
                    ("SLURM_RESTART_COUNT", "1"),
                ],
                Some(2),
                Some("slurm-77-again-1"),
            ),
            (
                // --array=10-30:10, two tasks each: the third element's second task.
                &[
                    ("SLURM_PROCID", "1"),
                    ("SLURM_JOB_ID", "80"),
                    ("SLURM_ARRAY_JOB_ID", "78"),
                    ("SLURM_ARRAY_TASK_ID", "30"),
                    ("SLURM_ARRAY_TASK_MIN", "10"),
                    ("SLURM_ARRAY_TASK_STEP", "10"),
                    ("SLURM_NTASKS", "2"),
                ],
                Some(5),
                Some("slurm-78"),
            ),
            (
                // mpirun in a job's script: the script itself is Slurm's task 0.
                &[
                    ("OMPI_COMM_WORLD_RANK", "5"),
                    ("SLURM_PROCID", "0"),
                    ("SLURM_JOB_ID", "1"),
                ],
                Some(5),
                None,
            ),
            (&[("PMI_RANK", "4")], Some(4), None),
            (&[("PMIX_RANK", "6")], Some(6), None),
            (&[("PMI_RANK", "")], None, None),
        ];
        for (vars, generator, job) in cases {
            let expected = Place {
                generator,
                job: job.map(str::to_owned),
            };
            assert_eq!(place(vars), expected, "{vars:?}");
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        let var = |name: &str| (name == "PMI_RANK").then(|| "first".to_owned());
        let e = of(var).unwrap_err();
        assert!(e.message.contains("PMI_RANK=first"), "{}", e.message);
    }
}
