//! `pgdyno completions`: what completes options in a shell; and the man pages that packages have. Both come
//! from the command line's own definitions.

use std::fs;
use std::path::PathBuf;

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::Shell;

use pgdyno_output::{answer, write_answer};
use pgdyno_spec::{Exit, Failure};

use super::Cli;

/// For which shell.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  source <(pgdyno completions bash)                                            this shell
  pgdyno completions bash > ~/.local/share/bash-completion/completions/pgdyno  bash
  pgdyno completions zsh > \"${fpath[1]}/_pgdyno\"                               zsh
  pgdyno completions fish > ~/.config/fish/completions/pgdyno.fish             fish")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: CompletedShell,
}

/// A shell with completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CompletedShell {
    /// bash
    Bash,
    /// zsh
    Zsh,
    /// fish
    Fish,
}

impl From<CompletedShell> for Shell {
    fn from(shell: CompletedShell) -> Shell {
        match shell {
            CompletedShell::Bash => Shell::Bash,
            CompletedShell::Zsh => Shell::Zsh,
            CompletedShell::Fish => Shell::Fish,
        }
    }
}

/// Prints the completions.
pub fn open(args: &CompletionsArgs) -> Result<Exit, Failure> {
    write_answer(format_args!("{}", script(args.shell)))?;
    Ok(Exit::Ok)
}

fn script(shell: CompletedShell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(
        Shell::from(shell),
        &mut Cli::command(),
        "pgdyno",
        &mut script,
    );
    String::from_utf8_lossy(&script).into_owned()
}

/// Where man pages go.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The folder; it is created
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
}

/// Writes a man page for each command.
pub fn man(args: &ManArgs) -> Result<Exit, Failure> {
    let dir = args.dir.display();
    let written = fs::create_dir_all(&args.dir)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), &args.dir));
    written.map_err(|e| Failure::new(format!("man pages could not be written to {dir}: {e}")))?;
    answer!("man pages are in {dir}: man -l {dir}/pgdyno.1")?;
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shell_completes_verbs_and_options() {
        for shell in CompletedShell::value_variants() {
            let script = script(*shell);
            for word in ["calibrate", "query-mode", "check-history"] {
                assert!(script.contains(word), "{shell:?}: {word}");
            }
        }
    }
}
