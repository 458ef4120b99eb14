//! `pgdyno store`: a team's notebook on a server, and the size of any notebook.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::{exchange, ls};
use pgdyno_database::dialect::Product;
use pgdyno_database::open;
use pgdyno_model::notebook::Filter;
use pgdyno_output::{StoreArgs, Verbosity, answer, remark};
use pgdyno_spec::{Exit, Failure, TargetSpec};
use pgdyno_store::Store;

/// What can be done with a notebook as a whole.
#[derive(Debug, Subcommand)]
pub enum StoreVerb {
    /// Make a notebook on a server: its tables, in an existing database
    #[command(after_help = "\
Examples:
  pgdyno store init postgresql://me@host/notes
  pgdyno run tpcb --store postgresql://me@host/notes")]
    Init {
        /// The database, by libpq's rules: a URL, or service=NAME
        #[arg(value_name = "URL")]
        url: PathBuf,
    },
    /// Say where the notebook is, what is in it, what one may do there, and what waits
    Check {
        /// The notebook's options.
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Send the trials that wait on this host for a notebook on a server
    Push {
        /// The notebook's options.
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Copy every trial into another notebook, a file or a server; the old one stays
    #[command(after_help = "\
Examples:
  pgdyno store move postgresql://me@host/notes                     from the file to a team's
  pgdyno store move mine.sqlite --store postgresql://me@host/notes and back")]
    Move {
        /// Where to: a URL on which `pgdyno store init` was run, or a file
        #[arg(value_name = "URL|FILE")]
        to: PathBuf,
        /// The notebook's options.
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Merge the seconds of old trials: totals and percentiles stay, the course in time goes
    Thin(ThinArgs),
}

/// What is thinned.
#[derive(Debug, Args)]
pub struct ThinArgs {
    /// Trials that ended longer ago than this (90d, 12h), or before a date (2026-01-31)
    #[arg(long, value_name = "WHEN", value_parser = ls::since)]
    pub older: String,
    /// The notebook's options.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Runs the command.
pub fn open(verb: &StoreVerb, verbosity: Verbosity) -> Result<Exit, Failure> {
    let say = |text: String| {
        if !verbosity.quiet {
            remark!("pgdyno: {text}");
        }
    };
    match verb {
        StoreVerb::Init { url } => {
            let made =
                Store::init(url).map_err(|failure| no_place(url, &failure).unwrap_or(failure));
            let (store, made) = made?;
            let place = store.place();
            say(if made {
                format!("made a notebook at {place}")
            } else {
                format!("there is a notebook at {place} already; nothing was changed")
            });
        }
        StoreVerb::Check { store } => check(&store.existing()?)?,
        StoreVerb::Push { store } => {
            let store = store.existing()?;
            let pushed = store.push()?;
            let (sent, place) = (trials(pushed.trials), store.place());
            let running = match pushed.running {
                0 => String::new(),
                count => format!("; {} still running", trials(count)),
            };
            let aborted = match pushed.aborted {
                0 => String::new(),
                count => format!("; {} of this host had been killed: aborted", trials(count)),
            };
            say(format!("{sent} sent to {place}{running}{aborted}"));
        }
        StoreVerb::Move { to, store } => {
            let from = store.existing()?;
            let to = Store::open(to)?;
            let copied = to.copy_from(&from, None)?;
            exchange::tell(copied, &format!("copied to {}", to.place()), verbosity);
            say(format!("{} is left as it was", from.place()));
        }
        StoreVerb::Thin(args) => {
            let store = args.store.existing()?;
            let thinned = store.thin(&args.older)?;
            if thinned > 0 {
                store.shrink()?;
            }
            say(format!(
                "{} thinned; totals and percentiles stay",
                trials(thinned)
            ));
        }
    }
    Ok(Exit::Ok)
}

/// Why no notebook can be made with this product; `None` where it is another reason.
fn no_place(url: &Path, failure: &Failure) -> Option<Failure> {
    let target = open::existing(&TargetSpec::at(url.to_str()?)).ok()??;
    let product = Product::ask(&mut target.connect().ok()?).ok()?;
    let is_syntax = failure.message.contains("(SQLSTATE 42601)");
    let lacks = product.lacks_for("a notebook needs");
    let why = lacks.or_else(|| {
        is_syntax.then(|| {
            format!(
                "a notebook needs SQL that {} does not have",
                product.title()
            )
        })
    })?;
    let failure = Failure::new(why).detail(failure.message.clone());
    Some(failure.hint("keep it in a file (--store FILE), or on a PostgreSQL server"))
}

fn check(store: &Store) -> Result<(), Failure> {
    answer!("notebook  {}", store.place())?;
    answer!("trials    {}", store.count(&Filter::default())?)?;
    let grants = store.grants()?;
    for (word, is) in [
        ("allowed  ", Some(true)),
        ("refused  ", Some(false)),
        ("not known", None),
    ] {
        let names: Vec<&str> = grants.iter().filter(|g| g.1 == is).map(|g| g.0).collect();
        if !names.is_empty() {
            answer!("{word} {}", names.join(", "))?;
        }
    }
    match store.waits()? {
        0 => Ok(()),
        count => answer!(
            "waiting   {} on this host: pgdyno store push",
            trials(count)
        ),
    }
}

fn trials(count: usize) -> String {
    match count {
        1 => "1 trial".to_owned(),
        count => format!("{count} trials"),
    }
}
