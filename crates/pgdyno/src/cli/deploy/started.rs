//! The command that each generator runs, checked before an engine starts it a hundred times.

use clap::Parser;

use super::super::run::RunArgs;
use super::super::{Cli, Verb};
use super::Generators;
use pgdyno_spec::{Exit, Failure, generators};
use pgdyno_workload::params::Params;
use pgdyno_workload::resolve;

/// A command, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub struct Started {
    /// `run`, or `lab retries`.
    pub verb: Vec<String>,
    /// What follows it.
    pub options: Vec<String>,
    /// The command that loads the tables of a run's pack.
    pub load: Option<Vec<String>>,
}

/// What the engine says, each with the way out.
const SAID_BY_ENGINE: [(&str, &str); 6] = [
    ("--generators", "put it before `--`"),
    ("--generator", "leave it out: the engine numbers them"),
    ("--join", "leave it out: they join by the job's id"),
    ("--url", "leave it out, and give PGHOST, PGUSER …"),
    ("--store", "leave it out, and give PGDYNO_STORE"),
    ("--no-store", "leave it out: they meet in the notebook"),
];

impl Started {
    /// Checks a command. `secrets` says where the engine finds what names the server and the notebook.
    ///
    /// # Errors
    /// It is no command of several generators, has a mistake, or says what the engine says.
    pub fn new(asked: &Generators, secrets: &str) -> Result<Self, Failure> {
        let (words, generators) = (&asked.command, asked.generators);
        let verb = words.first().map(String::as_str).unwrap_or_default();
        let verb_words = match verb {
            "run" | "sweep" | "calibrate" => 1,
            "lab" => 2.min(words.len()),
            _ => {
                let text = format!("{verb}: several generators run, sweep, calibrate or lab");
                return Err(usage(text).hint("… -- run tpcb -c 64 -T 5m"));
            }
        };
        for word in words {
            let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
            let said = SAID_BY_ENGINE.iter().find(|(known, _)| *known == name);
            if let Some((_, way_out)) = said {
                let text = format!("{name} is not for the command behind `--`");
                let failure = usage(text).hint(*way_out);
                return Err(match name {
                    "--url" | "--store" => failure.hint(secrets),
                    _ => failure,
                });
            }
            if word.chars().any(char::is_control) {
                let text = format!("{word:?} behind `--` has a line break or a control character");
                return Err(usage(text).hint("put it into a file of the image or host"));
            }
        }
        let (verb, options) = words.split_at(verb_words);
        let load = check(verb, options, generators, secrets)?;
        Ok(Self {
            verb: verb.to_vec(),
            options: options.to_vec(),
            load,
        })
    }
}

/// Reads the command as each generator will. Gives the command that loads its tables.
fn check(
    verb: &[String],
    options: &[String],
    generators: u32,
    secrets: &str,
) -> Result<Option<Vec<String>>, Failure> {
    let of_engine = ["--generators".to_owned(), generators.to_string()];
    let program = ["pgdyno".to_owned()];
    let whole = program.iter().chain(verb).chain(&of_engine).chain(options);
    let cli = Cli::try_parse_from(whole).map_err(|e| {
        let text = e.to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
        usage(format!("the command behind `--`: {text}"))
    })?;
    match cli.verb {
        Verb::Run(args) => {
            args.spec.check()?;
            generators::share(&args.spec, 0, generators)?;
            load_of(&args)
        }
        Verb::Calibrate(args) if !args.urls.is_empty() || !args.compare.is_empty() => {
            let text = "a server is not for the command behind `--`";
            Err(usage(text.to_owned())
                .hint("leave it out, and give PGHOST, PGUSER …")
                .hint(secrets))
        }
        _ => Ok(None),
    }
}

/// `load …` for a run of a pack. A path that is not here is one of the image or the hosts.
fn load_of(args: &RunArgs) -> Result<Option<Vec<String>>, Failure> {
    let (mix, params) = (args.spec.mix.as_deref(), &args.spec.params);
    let [name] = args.spec.workload.as_slice() else {
        return Ok(None);
    };
    let is_path = name.contains(['/', '.']);
    let pack = match resolve::typed_pack(name) {
        Ok(pack) => pack,
        Err(_) if is_path => return Ok(None),
        Err(failure) => return Err(failure),
    };
    mix.map(|name| pack.mix(name)).transpose().map_err(usage)?;
    Params::parse(&pack, mix, params).map_err(usage)?;
    let mut words = vec!["load".to_owned(), name.clone()];
    if let Some(mix) = mix {
        words.extend(["--mix".to_owned(), mix.to_owned()]);
    }
    for param in params {
        words.extend(["--param".to_owned(), param.clone()]);
    }
    Ok(Some(words))
}

fn usage(text: String) -> Failure {
    Failure::with(Exit::Usage, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(command: &str) -> Result<Started, Failure> {
        let asked = Generators {
            generators: 4,
            command: command.split(' ').map(str::to_owned).collect(),
        };
        Started::new(&asked, "they are in the Secret")
    }

    #[track_caller]
    fn refused(command: &str, words: &[&str]) {
        let failure = started(command).unwrap_err();
        assert!(matches!(failure.exit, Exit::Usage), "{failure}");
        for word in words {
            assert!(failure.to_string().contains(word), "{word}: {failure}");
        }
    }

    #[test]
    fn the_tables_of_a_pack_are_loaded_as_the_run_needs_them() {
        let run = started("run ycsb --mix a --param recordcount=1000 -c 64 -T 5m").unwrap();
        assert_eq!(run.verb, ["run"]);
        assert_eq!(
            run.load.unwrap().join(" "),
            "load ycsb --mix a --param recordcount=1000"
        );
        for without in ["run /work/a.sql@2 b.sql -c 4", "calibrate -T 10s"] {
            assert_eq!(started(without).unwrap().load, None, "{without}");
        }
    }

    #[test]
    fn a_lab_has_two_words_before_its_options() {
        let lab = started("lab retries -c 64").unwrap();
        assert_eq!((lab.verb.len(), lab.options.join(" ")), (2, "-c 64".into()));
    }

    #[test]
    fn options_of_several_generators_are_taken_behind_the_dashes() {
        started("run tpcb -c 8 --join-deadline 10m --leave").unwrap();
    }

    #[test]
    fn what_the_engine_says_is_refused_with_the_way_out() {
        for (option, way_out) in SAID_BY_ENGINE {
            refused(&format!("run tpcb -c 8 {option} x"), &[option, way_out]);
            refused(&format!("sweep {option}=x"), &[option, way_out]);
        }
        refused("sweep --url=x", &["in the Secret"]);
        refused("calibrate postgresql://me:s3cret@db/x", &["PGHOST"]);
    }

    #[test]
    fn a_mistake_in_the_command_is_found_before_it_is_started() {
        refused("ls", &["ls: several generators run", "… -- run tpcb"]);
        refused("run tbcp -c 8", &["tbcp: unknown pack"]);
        refused("run tpcb -c 8 --param sale=3", &["sale"]);
        refused("run ycsb --mix z -c 8", &["z"]);
        refused("run tpcb -c 3", &["4 generators cannot share 3 clients"]);
        refused("run tpcb -c 8 --raet 3", &["behind `--`", "'--rate'"]);
        refused("lab", &["behind `--`"]);
        refused("run tpcb\n -c 8", &["line break", "file"]);
    }
}
