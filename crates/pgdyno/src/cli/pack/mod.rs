//! `pgdyno pack`: which workloads there are, one of them as files, and a new one.

use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::Subcommand;

use pgdyno_output::{Verbosity, write_answer, write_report};
use pgdyno_spec::{Exit, Failure};
use pgdyno_workload::pack::Pack;
use pgdyno_workload::resolve;

mod check;
mod list;
mod start;

/// What can be done with packs.
#[derive(Debug, Subcommand)]
pub enum PackVerb {
    /// List the built-in workloads; one alone with its parameters and mixes
    #[command(after_help = "\
Examples:
  pgdyno pack list                    one line each
  pgdyno pack list hot                those with this word in name, summary or tags
  pgdyno pack list tpcb               its parameters and mixes (-v: also what it measures)")]
    List {
        /// A word of names, summaries or tags, or a workload's name
        word: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
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
    /// Start a workload of your own: a new folder that loads and runs at once
    #[command(after_help = "\
Examples:
  pgdyno pack new mine                one table, a read and a write, a check, comments that explain them
  pgdyno pack new mine --table items  the same, with the table's name
  pgdyno pack new mine --from tpcb    the files of a built-in workload")]
    New {
        /// The folder; its last part is the workload's name
        dir: PathBuf,
        /// Begin with a copy of this workload
        #[arg(long, value_name = "WORKLOAD", conflicts_with = "table")]
        from: Option<String>,
        /// The table's name (default: the workload's)
        #[arg(long, value_name = "NAME")]
        table: Option<String>,
    },
    /// Find all that is wrong with a workload's files, without a server
    Check {
        /// The path of a folder with a pack.toml, or a built-in workload's name
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Runs the command.
pub fn open(verb: &PackVerb, verbosity: Verbosity) -> Result<Exit, Failure> {
    let text = match verb {
        PackVerb::List { word, json: false } => list::text(word.as_deref(), verbosity.verbose > 0)?,
        PackVerb::List { word, json: true } => list::json(word.as_deref())?,
        PackVerb::Show { name, to: None } => show(&find(name)?),
        PackVerb::Show {
            name,
            to: Some(dir),
        } => copy(&find(name)?, dir)?,
        PackVerb::New { dir, from, table } => start::new(dir, from.as_deref(), table.as_deref())?,
        PackVerb::Check { name, json } => {
            let (text, exit) = check::check(name, *json);
            match json {
                true => write_answer(format_args!("{text}"))?,
                false => write_report(format_args!("{text}"))?,
            }
            return Ok(exit);
        }
    };
    match verb {
        // Files, and what programs read, stay as they are.
        PackVerb::Show { to: None, .. } | PackVerb::List { json: true, .. } => {
            write_answer(format_args!("{text}"))?;
        }
        _ => write_report(format_args!("{text}"))?,
    }
    Ok(Exit::Ok)
}

fn find(name: &str) -> Result<Pack, Failure> {
    resolve::typed_pack(name)
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
    let files = pack.files.iter();
    write(
        dir,
        files.map(|(name, text)| (name.as_str(), text.as_str())),
    )?;
    Ok(format!(
        "{} copied to {}; run it with: pgdyno run {}\n",
        pack.name(),
        dir.display(),
        as_typed(dir)
    ))
}

/// Writes files into a new folder.
fn write<'a>(dir: &Path, files: impl Iterator<Item = (&'a str, &'a str)>) -> Result<(), Failure> {
    let fail = |path: &Path, e: io::Error| {
        Failure::new(format!("could not write {}: {e}", path.display())).with_missing_folder(path)
    };
    // A new folder only: an old one may hold the user's work.
    fs::create_dir(dir).map_err(|e| match e.kind() {
        io::ErrorKind::AlreadyExists => Failure::new(format!("{} is there already", dir.display()))
            .hint("name a new folder; pgdyno overwrites nothing"),
        _ => fail(dir, e),
    })?;
    for (name, content) in files {
        let path = dir.join(name);
        fs::write(&path, content).map_err(|e| {
            // Half a pack would be in the way of the next try.
            let _ = fs::remove_dir_all(dir);
            fail(&path, e)
        })?;
    }
    Ok(())
}

/// A folder as it is to be typed: a bare word would name a shipped pack.
fn as_typed(dir: &Path) -> String {
    match dir.components().count() {
        1 => format!("./{}", dir.display()),
        _ => dir.display().to_string(),
    }
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
}
