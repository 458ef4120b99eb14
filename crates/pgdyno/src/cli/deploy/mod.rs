//! `pgdyno deploy`: prints what an engine needs to start several generators: Kubernetes, Slurm. Nothing
//! is started here, and nothing asked: the text is for `kubectl apply` and `sbatch`.

mod kubernetes;
mod slurm;
mod started;

use clap::{Args, Subcommand};

use pgdyno_output::write_answer;
use pgdyno_spec::{Exit, Failure};

/// What starts the generators.
#[derive(Debug, Subcommand)]
pub enum DeployVerb {
    /// Print the Jobs (YAML) that run so many generators on Kubernetes
    Kubernetes(kubernetes::KubernetesArgs),
    /// Print the batch file that runs so many generators under Slurm
    Slurm(slurm::SlurmArgs),
}

/// What every engine starts.
#[derive(Debug, Args)]
pub struct Generators {
    /// How many pgdynos measure together
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    generators: u32,

    /// What each of them does: run, sweep, calibrate or lab with its options, without a server and a
    /// notebook
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Prints it.
pub fn open(verb: &DeployVerb) -> Result<Exit, Failure> {
    let text = match verb {
        DeployVerb::Kubernetes(args) => args.manifests()?,
        DeployVerb::Slurm(args) => args.batch_file()?,
    };
    write_answer(format_args!("{text}"))?;
    Ok(Exit::Ok)
}

/// A label of RFC 1123, as Kubernetes wants its names: lower-case letters, digits and `-` within.
fn label(text: &str) -> Result<String, String> {
    let is_inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    let is_label = (1..=63).contains(&text.len())
        && text.bytes().all(is_inner)
        && !text.starts_with('-')
        && !text.ends_with('-');
    if is_label {
        Ok(text.to_owned())
    } else {
        Err(
            "a name has 1 to 63 lower-case letters, digits and, but for its ends, '-': pgdyno-1"
                .to_owned(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_labels_of_rfc_1123() {
        for right in ["a", "pgdyno-1", "1st", &"x".repeat(63)] {
            assert_eq!(label(right).as_deref(), Ok(right));
        }
        for wrong in [
            "",
            "-a",
            "a-",
            "A",
            "a.b",
            "a b",
            "ä",
            "a\n",
            &"x".repeat(64),
        ] {
            assert!(label(wrong).unwrap_err().contains("pgdyno-1"), "{wrong:?}");
        }
    }
}
