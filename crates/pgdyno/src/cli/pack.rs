//! `pgdyno pack`: which workloads there are, and one of them as files.

use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::Subcommand;

use pgdyno_model::{Exit, Failure};
use pgdyno_output::{Verbosity, write_answer};
use pgdyno_workload::pack::Pack;
use pgdyno_workload::{resolve, shipped};

/// What can be done with packs.
#[derive(Debug, Subcommand)]
pub enum PackVerb {
    /// List the built-in workloads with their parameters and mixes (-v: also what each measures)
    List,
    /// Print every file of a workload, or copy the files to change them
    #[command(after_help = "\
Examples:
  pgdyno pack show tpcb
  pgdyno pack show tpcb --to mine     then change mine/tpcb.sql and: pgdyno run ./mine")]
    Show {
        /// A workload's name, or the path of a folder with a pack.toml
        name: String,
        /// Copy its files into this new folder instead of printing them
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,
    },
}

/// Runs the command.
pub fn open(verb: &PackVerb, verbosity: Verbosity) -> Result<Exit, Failure> {
    let text = match verb {
        PackVerb::List => list(verbosity.verbose > 0)?,
        PackVerb::Show { name, to: None } => show(&find(name)?),
        PackVerb::Show {
            name,
            to: Some(dir),
        } => copy(&find(name)?, dir)?,
    };
    write_answer(format_args!("{text}"))?;
    Ok(Exit::Ok)
}

fn find(name: &str) -> Result<Pack, Failure> {
    resolve::typed_pack(name)
}

fn list(verbose: bool) -> Result<String, Failure> {
    let names = shipped::names();
    let width = names.iter().map(|n| n.len()).max().unwrap_or(0);
    let mut text = String::new();
    for name in names {
        let pack = find(name)?;
        text += &format!("{name:width$}  {}\n", pack.manifest.summary);
        let mut more = |line: &str| text += &format!("{:width$}    {line}\n", "");
        for p in &pack.manifest.params {
            more(&format!("{} (default {}): {}", p.name, p.default, p.help));
        }
        if let Some(base) = &pack.manifest.uses {
            more(&format!("on the tables of {base}, with its parameters"));
        }
        for mix in &pack.manifest.mixes {
            more(&format!("--mix {}: {}", mix.name, mix.help));
        }
        if verbose {
            pack.manifest.description.lines().for_each(&mut more);
        }
    }
    Ok(text)
}

/// The manifest first, then the other files by name, each under its name.
fn show(pack: &Pack) -> String {
    let manifest = pgdyno_workload::manifest::FILE_NAME;
    let first = pack.files.iter().filter(|(name, _)| *name == manifest);
    let rest = pack.files.iter().filter(|(name, _)| *name != manifest);
    let mut text = String::new();
    for (name, content) in first.chain(rest) {
        if !text.is_empty() {
            text.push('\n');
        }
        text += &format!("==> {}/{name} <==\n{content}", pack.place);
        if !content.ends_with('\n') {
            text.push('\n');
        }
    }
    text
}

fn copy(pack: &Pack, dir: &Path) -> Result<String, Failure> {
    let fail = |path: &Path, e: io::Error| {
        Failure::new(format!("could not write {}: {e}", path.display()))
    };
    // A new folder only: what is in an old one may be somebody's work.
    fs::create_dir(dir).map_err(|e| match e.kind() {
        io::ErrorKind::AlreadyExists => Failure::new(format!("{} is there already", dir.display()))
            .hint("name a new folder; pgdyno overwrites nothing"),
        _ => fail(dir, e),
    })?;
    for (name, content) in &pack.files {
        let path = dir.join(name);
        fs::write(&path, content).map_err(|e| {
            // Half a pack would be in the way of the next try.
            let _ = fs::remove_dir_all(dir);
            fail(&path, e)
        })?;
    }
    let path = dir.display();
    // A bare word would name a shipped pack.
    let run = if dir.components().count() == 1 {
        "./"
    } else {
        ""
    };
    Ok(format!(
        "{} copied to {path}; run it with: pgdyno run {run}{path}\n",
        pack.name()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_shown_under_its_name() {
        let text = show(&find("tpcb").unwrap());
        assert!(
            text.starts_with("==> tpcb/pack.toml <==\nname = \"tpcb\"\n"),
            "{text}"
        );
        for file in ["schema.sql", "keys.sql", "tpcb.sql"] {
            assert!(text.contains(&format!("\n==> tpcb/{file} <==\n")), "{file}");
        }
    }

    #[test]
    fn a_copy_is_a_pack_again_and_nothing_is_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("mine");
        copy(&find("select-only").unwrap(), &to).unwrap();
        let copied = find(to.to_str().unwrap()).unwrap();
        assert_eq!(copied.files, find("select-only").unwrap().files);
        let e = copy(&find("tpcb").unwrap(), &to).unwrap_err();
        assert!(e.to_string().contains("is there already"), "{e}");
        let e = copy(&find("tpcb").unwrap(), &dir.path().join("no/where")).unwrap_err();
        assert!(e.to_string().contains("could not write"), "{e}");
    }

    #[test]
    fn the_list_has_every_pack_with_its_parameters() {
        let text = list(false).unwrap();
        assert!(
            text.contains("tpcb") && text.contains("scale (default 1): "),
            "{text}"
        );
        assert!(text.contains("bytes (default 100): "), "{text}");
        assert!(
            text.contains("on the tables of tpcb, with its parameters"),
            "{text}"
        );
        assert!(!text.contains("`pgbench -N`"), "{text}");
        assert!(list(true).unwrap().contains("`pgbench -N`"));
    }
}
