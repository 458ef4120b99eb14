//! `pgdyno deploy slurm`: a batch file.

use std::time::Duration;

use clap::Args;

use super::started::Started;
use super::{Generators, label};
use pgdyno_spec::{Failure, duration};

const SECRETS: &str = "the batch file is readable by others; sbatch passes the environment on";

/// How the generators are dealt over nodes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pgdyno deploy slurm --generators 16 -- run tpcb -c 4000 -R 200000 -T 5m > pgdyno.sbatch
  export PGDYNO_STORE=postgresql://bench@notes/pgdyno PGHOST=db1,db2 PGUSER=me PGDATABASE=bench
  sbatch pgdyno.sbatch                          the environment goes with the job
  sbatch --partition=fast pgdyno.sbatch         options of sbatch go before those in the file

  pgdyno deploy slurm --generators 16 --per-node 4 --cpu 8 --time 30m -- run tpcb -c 4000 -T 5m

Passwords are best in ~/.pgpass, which all nodes see. The job's id is the key by which the generators
join. Nothing is started: pgdyno help scale-out")]
pub struct SlurmArgs {
    /// Name of the job
    #[arg(long, value_name = "NAME", value_parser = label, default_value = "pgdyno")]
    name: String,

    /// Generators on each node
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    per_node: u32,

    /// CPUs of each generator
    #[arg(long, value_name = "COUNT", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=4096))]
    cpu: u32,

    /// Limit of the whole job, loading and waiting for each other included: 30m, 2h [default: the
    /// partition's]
    #[arg(long, value_name = "TIME", value_parser = duration::parse_positive)]
    time: Option<Duration>,

    /// What is started.
    #[command(flatten)]
    generators: Generators,
}

impl SlurmArgs {
    /// The batch file.
    ///
    /// # Errors
    /// The command cannot be started so.
    pub fn batch_file(&self) -> Result<String, Failure> {
        let started = Started::new(&self.generators, SECRETS)?;
        let (name, generators, cpu) = (&self.name, self.generators.generators, self.cpu);
        let per_node = self.per_node.min(generators);
        let nodes = generators.div_ceil(per_node);
        let time = self.time.map_or(String::new(), |time| {
            format!("#SBATCH --time={}\n", limit(time))
        });
        let of_engine = ["--generators".to_owned(), generators.to_string()];
        let words = [started.verb, of_engine.to_vec(), started.options].concat();
        let command = line(&words);
        Ok(format!(
            "\
#!/bin/bash
# {generators} pgdynos measure together (pgdyno help scale-out). The environment names the notebook and the server:
#   export PGDYNO_STORE=postgresql://… PGHOST=… PGUSER=… PGDATABASE=…
#SBATCH --job-name={name}
#SBATCH --nodes={nodes}
#SBATCH --ntasks={generators}
#SBATCH --ntasks-per-node={per_node}
#SBATCH --cpus-per-task={cpu}
{time}# A trial that has begun cannot begin again.
#SBATCH --no-requeue
# The others go on when a node fails.
#SBATCH --no-kill

if [ -z \"${{PGDYNO_STORE:-}}\" ]; then
  echo 'PGDYNO_STORE is not set: it names the notebook in which the generators meet' >&2
  exit 2
fi
if [ -z \"${{PGHOST:-}}${{PGHOSTADDR:-}}${{PGPORT:-}}${{PGSERVICE:-}}\" ]; then
  echo 'nothing names the server: set PGHOST or PGSERVICE' >&2
  exit 2
fi
# Not in every release of Slurm does srun take --cpus-per-task from the job.
srun --ntasks={generators} --cpus-per-task={cpu} --kill-on-bad-exit=0 --wait=0 --no-kill \\
  pgdyno {command}
"
        ))
    }
}

/// Words as bash reads them back.
fn line(words: &[String]) -> String {
    let words: Vec<_> = words.iter().map(|word| quoted(word)).collect();
    words.join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A limit in Slurm's form: `D-HH:MM:SS`.
fn limit(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
    let (minutes, seconds) = (seconds / 60 % 60, seconds % 60);
    format!("{days}-{hours:02}:{minutes:02}:{seconds:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch_file(generators: u32, per_node: u32, command: &[&str]) -> String {
        let args = SlurmArgs {
            name: "pgdyno".into(),
            per_node,
            cpu: 3,
            time: Some(Duration::from_secs(90_061)),
            generators: Generators {
                generators,
                command: command.iter().map(|word| (*word).to_owned()).collect(),
            },
        };
        args.batch_file().unwrap()
    }

    #[test]
    fn tasks_are_dealt_over_as_few_nodes_as_hold_them() {
        for (generators, per_node, nodes, each) in [(16, 1, 16, 1), (10, 4, 3, 4), (3, 8, 1, 3)] {
            let text = batch_file(generators, per_node, &["run", "tpcb", "-c", "16"]);
            for line in [
                format!("#SBATCH --nodes={nodes}"),
                format!("#SBATCH --ntasks={generators}"),
                format!("#SBATCH --ntasks-per-node={each}"),
                "#SBATCH --cpus-per-task=3".to_owned(),
                "#SBATCH --time=1-01:01:01".to_owned(),
                format!("  pgdyno run --generators {generators} tpcb -c 16"),
            ] {
                assert!(text.lines().any(|l| l == line), "{line}:\n{text}");
            }
        }
    }

    #[test]
    fn what_a_shell_would_read_is_quoted() {
        for (word, text) in [
            ("tpcb", "tpcb"),
            ("", "''"),
            ("a b", "'a b'"),
            ("$(rm x)", "'$(rm x)'"),
            ("it's", r"'it'\''s'"),
            ("~", "'~'"),
            ("é", "'é'"),
        ] {
            assert_eq!(quoted(word), text);
        }
    }
}
