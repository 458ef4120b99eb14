//! `pgdyno config`: what one would type again and again, from a file; and what is in effect here.

mod file;

use std::env;

use clap::{Args, Command};
use serde::Serialize;

use pgdyno_output::{JsonArg, answer};
use pgdyno_spec::{
    Exit, Failure,
    defaults::{self, Defaults},
};
use pgdyno_store::place;

/// What is in effect.
#[derive(Debug, Args)]
#[command(after_help = "\
pgdyno.toml is read from this folder or the nearest one above it (up to the root of a Git checkout or
the home directory), then from pgdyno/pgdyno.toml in $XDG_CONFIG_HOME or ~/.config. All of it may be
left out:

  url = \"postgresql://me@db1/bench\"     # the server; passwords belong in ~/.pgpass
  store = \"notebook.sqlite\"             # beside this file; or a team's: \"service=notes\"
  tags = [\"baseline\"]                   # every trial gets them
  observe = [\"host\", \"pg.waits\"]        # or \"auto\", \"none\"

The command line goes before the environment (PGHOST…, PGDYNO_STORE), the environment before the
project's file, that before the user's. A private server's options (--pg-set …) ask for a private
server all the same. The compatible commands (pgdyno pgbench, ycsb, workload, sysbench …) take their
options as the tools do, and nothing from here, but that pgdyno pgbench keeps its runs in the store that is
named here or by PGDYNO_STORE. PGDYNO_CONFIG names another file; empty: none.")]
pub struct ConfigArgs {
    /// Also, or instead, as JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// One thing that is set, for people and machines.
#[derive(Debug, Serialize)]
struct Setting {
    name: &'static str,
    /// Without passwords.
    value: String,
    from: String,
}

/// Reads what counts for this process and sets it as its defaults.
///
/// # Errors
/// A file is wrong.
pub fn take() -> Result<(), Failure> {
    defaults::set(file::read(&file::places()?)?);
    Ok(())
}

/// The same for commands that take no options from there: the store alone.
///
/// # Errors
/// As [`take`].
pub fn take_store() -> Result<(), Failure> {
    let Defaults { store, .. } = file::read(&file::places()?)?;
    defaults::set(Defaults {
        store,
        ..Defaults::default()
    });
    Ok(())
}

/// The command line with what the files say in place of its own defaults, in every command.
pub fn in_force(command: Command) -> Command {
    match &defaults::get().observe {
        // Once a process.
        Some(said) => with_observe(command, said.value.clone().leak()),
        None => command,
    }
}

fn with_observe(command: Command, words: &'static str) -> Command {
    let has = command.get_arguments().any(|arg| arg.get_id() == "observe");
    let command = if has {
        command.mut_arg("observe", |arg| arg.default_value(words))
    } else {
        command
    };
    let names: Vec<String> = command
        .get_subcommands()
        .map(|verb| verb.get_name().to_owned())
        .collect();
    names.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, |verb| with_observe(verb, words))
    })
}

/// Prints it.
///
/// # Errors
/// A file is wrong.
pub fn open(args: &ConfigArgs) -> Result<Exit, Failure> {
    let json_to = args.json.open()?;
    let places = file::places()?;
    let settings = settings(&file::read(&places)?)?;
    if !args.json.replaces_text() {
        let width = settings
            .iter()
            .map(|it| it.value.chars().count())
            .max()
            .unwrap_or(0);
        for Setting { name, value, from } in &settings {
            answer!("{name:8} {value:width$}  {from}")?;
        }
        answer!("")?;
        for place in &places {
            answer!("read: {}", place.display())?;
        }
        if places.is_empty() {
            answer!(
                "no {} was found; what it may say: pgdyno config --help",
                file::NAME
            )?;
        }
    }
    json_to.write(&settings)?;
    Ok(Exit::Ok)
}

/// What is in effect where the command line says nothing.
fn settings(of: &Defaults) -> Result<Vec<Setting>, Failure> {
    let variable = |names: &[&str]| {
        let set = names
            .iter()
            .find(|name| env::var_os(name).is_some_and(|value| !value.is_empty()));
        set.map(|name| format!("${name}"))
    };
    let built_in = || "built in".to_owned();
    let url = match variable(&["PGHOST", "PGHOSTADDR", "PGPORT", "PGSERVICE"]) {
        Some(from) => ("as psql takes it from PG*".to_owned(), from),
        None => match &of.url {
            Some(said) => (said.value.public(), said.by.display().to_string()),
            None => ("a private server".to_owned(), built_in()),
        },
    };
    let store = match (variable(&["PGDYNO_STORE"]), &of.store) {
        (Some(from), _) => (place::path(None)?, from),
        (None, Some(said)) => (said.value.clone(), said.by.display().to_string()),
        (None, None) => (place::path(None)?, built_in()),
    };
    let tags = of.tags.as_ref().map_or_else(
        || ("none".to_owned(), built_in()),
        |said| (said.value.join(" "), said.by.display().to_string()),
    );
    let observe = of.observe.as_ref().map_or_else(
        || ("auto".to_owned(), built_in()),
        |said| (said.value.clone(), said.by.display().to_string()),
    );
    let store = (
        pgdyno_spec::secret::without_secrets(&store.0.to_string_lossy(), None),
        store.1,
    );
    let named = [
        ("url", url),
        ("store", store),
        ("tags", tags),
        ("observe", observe),
    ];
    Ok(named
        .map(|(name, (value, from))| Setting { name, value, from })
        .into())
}
