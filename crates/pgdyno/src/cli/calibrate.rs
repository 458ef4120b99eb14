//! `pgdyno calibrate`: checks whether the infrastructure is as fast as expected, and compares
//! systems.

use std::time::Duration;

use clap::Args;

use super::calibrate_self;
use super::generators::{Together, check_new};
use super::observing::observing;
use super::pack_args::PackArgs;
use super::serve::ServeArgs;
use super::sweep::kept_as;
use crate::screen::Screen;
use pgdyno_diagnose::calibration::expect::Expectations;
use pgdyno_diagnose::calibration::growth::Growth;
use pgdyno_diagnose::calibration::judge::Judged;
use pgdyno_diagnose::calibration::read::{self, Calibration};
use pgdyno_model::document::calibration::Baseline;
use pgdyno_model::event::{Notice, PlannedTrial};
use pgdyno_model::{Observer, Observers, Outcome};
use pgdyno_output::{JsonArg, StoreArgs, Verbosity, write_report};
use pgdyno_report::{calibration, lab, notes};
use pgdyno_run::calibrate::conduct::{self, CalibrateOptions, GoOn, Means};
use pgdyno_spec::{Exit, Failure, GeneratorsSpec, ObserveSpec, TargetSpec, TrialSpec, duration};
use pgdyno_store::Store;

/// How long reads and updates are measured unless -T says otherwise.
const DURATION: Duration = Duration::from_secs(60);

/// What to calibrate, and what to expect.
#[derive(Debug, Args)]
#[command(
    long_about = "\
Check whether the infrastructure is as fast as expected. A round trip, a durable commit, and reads and updates
by primary key at one client (YCSB B) are measured and judged by their means; of a miss the likely
cause is named: network, sync, server or client, by subtraction. When the baseline is met, clients
are doubled until throughput stops growing.

Missing tables (pgdyno_probe, usertable) are loaded; without a server to connect to, pgdyno
starts a private one. Takes about 90 seconds, plus 5 seconds for each number of clients.",
    after_help = "\
Examples:
  pgdyno calibrate                                       a private server
  pgdyno calibrate postgresql://me@db1/bench --name db1
  pgdyno calibrate -T 10s --only-baseline                quickly
  pgdyno calibrate --expect read=500us,update=1-3ms
  pgdyno calibrate --compare laptop db1 postgresql://me@db2/bench
  pgdyno calibrate --self                                this machine's load generator, no database
  pgdyno show --experiment db1                           again, from the notebook

Exit code 1 also means that the baseline is missed: read or update.
How each verdict is computed: pgdyno help calibrate"
)]
pub struct CalibrateArgs {
    /// Server to use, as with --url; several are endpoints of one system. The baseline is measured
    /// on the first; more clients are spread over all
    #[arg(value_name = "URL", conflicts_with = "compare")]
    pub urls: Vec<String>,

    /// How long reads and updates are measured at one client: 60, 60s, 2m. The other measurements
    /// take a twelfth of it each, half a second at least. With --self: each combination [default: 60s;
    /// with --self 2s]
    #[arg(
        short = 'T',
        long,
        value_name = "TIME",
        value_parser = duration::parse_positive
    )]
    pub duration: Option<Duration>,

    /// Expected means, in milliseconds unless a unit is given: read, update,
    /// round-trip, commit [default: by what this host can do, or read=1-2,update=2-4]
    #[arg(long, value_name = "LINE=LOW-HIGH,…", value_delimiter = ',')]
    pub expect: Vec<String>,

    /// Continue with more clients even if the baseline is missed
    #[arg(long, conflicts_with = "only_baseline")]
    pub anyway: bool,

    /// Stop after the baseline
    #[arg(long)]
    pub only_baseline: bool,

    /// Throughput has stopped growing when doubling the clients adds less than this
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = percent)]
    pub growth: f64,

    /// Largest number of clients to try
    #[arg(long, value_name = "COUNT", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub max_clients: u32,

    /// Name of this calibration [default: calibrate-HOST:PORT]
    #[arg(long, value_name = "NAME", conflicts_with = "compare")]
    pub name: Option<String>,

    /// Compare systems side by side: calibrations in the notebook by name or UUID, and URLs, which
    /// are calibrated now
    #[arg(long, value_name = "NAME|URL", num_args = 1.., conflicts_with_all = ["url", "discover"])]
    pub compare: Vec<String>,

    /// `--self`.
    #[command(flatten)]
    pub of_self: calibrate_self::SelfArgs,

    /// `--json`.
    #[command(flatten, next_help_heading = "Result")]
    pub json: JsonArg,

    /// Where trials are kept.
    #[command(flatten)]
    pub store: StoreArgs,

    /// The notebook in the browser meanwhile.
    #[command(flatten)]
    pub serve: ServeArgs,

    /// Several pgdynos for each trial with enough clients.
    #[command(flatten)]
    pub generators: GeneratorsSpec,

    /// How YCSB's table is to be.
    #[command(flatten)]
    pub pack: PackArgs,

    /// What is observed while trials run.
    #[command(flatten)]
    pub observe: ObserveSpec,

    /// The server's options.
    #[command(flatten)]
    pub target: TargetSpec,
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end();
    match number.parse::<f64>() {
        Ok(percent) if (0.0..=1000.0).contains(&percent) => Ok(percent),
        _ => Err("it must be a share in percent, such as 10".to_owned()),
    }
}

impl CalibrateArgs {
    fn options(&self, verbosity: Verbosity) -> Result<CalibrateOptions, Failure> {
        let mut expectations = Expectations::default();
        for text in &self.expect {
            expectations
                .set(text)
                .map_err(|why| Failure::with(Exit::Usage, format!("--expect: {why}")))?;
        }
        if self
            .name
            .as_deref()
            .is_some_and(|name| name.trim().is_empty())
        {
            return Err(Failure::with(
                Exit::Usage,
                "--name: a name has at least one letter",
            ));
        }
        Ok(CalibrateOptions {
            observe: observing(&self.observe, verbosity)?,
            name: self.name.clone(),
            duration: self.duration.unwrap_or(DURATION),
            params: self.pack.pairs()?,
            expectations,
            go_on: match (self.anyway, self.only_baseline) {
                (true, _) => GoOn::Anyway,
                (_, true) => GoOn::Never,
                _ => GoOn::WhenMet,
            },
            growth: Growth {
                least: self.growth / 100.0,
                clients_max: self.max_clients,
            },
        })
    }

    fn wanted(&self) -> TargetSpec {
        let mut wanted = self.target.clone();
        wanted
            .urls
            .extend(self.urls.iter().map(|url| url.as_str().into()));
        wanted
    }
}

/// Runs the command.
pub fn open(args: &CalibrateArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    if args.of_self.of_self {
        return calibrate_self::open(&args.of_self, args.duration, &args.json, verbosity);
    }
    let options = args.options(verbosity)?;
    let json_to = args.json.open()?;
    if !args.compare.is_empty() {
        if args.generators.generators.is_some() {
            let text = "several generators calibrate one system at a time";
            return Err(Failure::with(Exit::Usage, text).hint("--compare the names, afterwards"));
        }
        let (systems, exit) = compare(args, verbosity, &options)?;
        let document = calibration::systems(&systems);
        let written = json_to.write(&document);
        if !args.json.replaces_text() {
            let text = calibration::systems_text(&document.systems);
            write_report(format_args!("{text}"))?;
        }
        written?;
        return Ok(exit);
    }
    let Some((calibration, early)) = calibrate(args, verbosity, &options, args.wanted())? else {
        return Ok(Exit::Ok);
    };
    let document = calibration::document(&calibration);
    let is_met = document.baseline.map(|baseline| baseline == Baseline::Met);
    if let Some(failure) = early {
        // What was measured until then is worth showing.
        let written = json_to.write(&document);
        if !args.json.replaces_text() {
            write_report(format_args!(
                "{}\n",
                lab::text(&document, calibration::WIDTH)
            ))?;
        }
        written?;
        return Err(failure);
    }
    let written = json_to.write(&document);
    if !args.json.replaces_text() {
        let notes = notes::of_experiment(&args.store.open()?, &calibration.experiment.uuid)?;
        write_report(format_args!(
            "{}{notes}",
            lab::text(&document, calibration::WIDTH)
        ))?;
    }
    written?;
    if !verbosity.quiet {
        kept_as(&calibration.experiment.name, verbosity);
        if is_met == Some(false) && options.go_on == GoOn::WhenMet {
            pgdyno_output::remark!(
                "pgdyno: note: more clients are not tried before the baseline is met; --anyway tries"
            );
        }
    }
    Ok(exit(is_met))
}

fn exit(is_met: Option<bool>) -> Exit {
    match is_met {
        Some(true) => Exit::Ok,
        _ => Exit::Failed,
    }
}

/// Names each trial when it comes.
struct Titles(Verbosity);

impl Observer<Outcome> for Titles {
    fn trial_announced(&mut self, trial: &PlannedTrial, _left: Duration) {
        if !self.0.quiet {
            pgdyno_output::remark!("pgdyno: {}", conduct::title(trial));
        }
    }

    fn notice(&mut self, notice: &Notice) {
        // Tidying what the role may not tidy is no news here.
        if let Notice::Done(_) | Notice::Note(_) = notice
            && !self.0.quiet
        {
            pgdyno_output::remark!("pgdyno: {notice}");
        }
    }
}

/// Measures a system and reads what came of it; `None`: another generator conducted it.
fn calibrate(
    args: &CalibrateArgs,
    verbosity: Verbosity,
    options: &CalibrateOptions,
    wanted: TargetSpec,
) -> Result<Option<(Calibration, Option<Failure>)>, Failure> {
    let store = args.store.open()?;
    let _served = args.serve.start(&args.store)?;
    let (name, params) = ("calibrate", options.params.iter());
    let load = TrialSpec {
        duration: Some(options.duration),
        params: params
            .map(|(name, value)| format!("{name}={value}"))
            .collect(),
        ..TrialSpec::of(name)
    };
    let sha256 = load.load_sha256();
    let together = Together {
        options: &args.generators,
        identity: (name, &sha256),
        store: &store,
        complete: &|_, spec| TrialSpec {
            target: wanted.clone(),
            ..spec
        },
    };
    let conducted = together.conduct(verbosity, |generators, goes_on| {
        check_new(goes_on)?;
        let mut screen = Screen::new(verbosity);
        conduct::conduct(
            options,
            Means {
                wanted: wanted.clone(),
                notebook: &store,
                observer: &mut Observers::new([&mut screen, &mut Titles(verbosity)]),
                progress: &mut verbosity.progress(),
                generators,
                interrupts: pgdyno_run::interrupts()?,
            },
        )
    })?;
    let Some(conducted) = conducted else {
        return Ok(None);
    };
    let calibration = read::called(&store, &conducted.uuid)?;
    Ok(Some((calibration, conducted.early)))
}

/// The systems that are named, those with a URL measured now.
fn compare(
    args: &CalibrateArgs,
    verbosity: Verbosity,
    options: &CalibrateOptions,
) -> Result<(Vec<Calibration>, Exit), Failure> {
    // A name that is mistyped is reported before minutes are spent on a URL.
    let is_url = |called: &str| called.contains("://") || called.contains('=');
    let named = args.compare.iter().filter(|called| !is_url(called));
    if named.clone().next().is_some() {
        let store: Store = args.store.existing()?;
        for called in named {
            read::called(&store, called)?;
        }
    }
    let (mut systems, mut worst) = (Vec::new(), Exit::Ok);
    for called in &args.compare {
        if !is_url(called) {
            systems.push(read::called(&args.store.existing()?, called)?);
            continue;
        }
        let wanted = TargetSpec {
            urls: vec![called.as_str().into()],
            ..args.target.clone()
        };
        let calibrated = calibrate(args, verbosity, options, wanted)?;
        let Some((calibration, early)) = calibrated else {
            continue;
        };
        if let Some(failure) = early {
            return Err(failure);
        }
        if exit(Judged::of(&calibration).is_met()) != Exit::Ok {
            worst = Exit::Failed;
        }
        systems.push(calibration);
    }
    Ok((systems, worst))
}
