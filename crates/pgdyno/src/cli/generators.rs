//! `pgdyno run --generators`: this process is one of several that measure a trial together.

use pgdyno_drive::Control;
use pgdyno_drive::record::End;
use pgdyno_model::document::TargetKind;
use pgdyno_model::notebook::Rendezvous;
use pgdyno_model::spec::generators::{self, GeneratorsSpec};
use pgdyno_model::spec::{ObserveSpec, Wish};
use pgdyno_model::{Exit, Failure, Observer, Observers, Outcome, State, TrialSpec, text};
use pgdyno_output::{Kept, Ran, Sink, Verbosity, print_document, remark};
use pgdyno_platform::interrupt::Interrupts;
use pgdyno_report::documents;
use pgdyno_run::generators::{Barrier, Company, Merged, Part, Watch, merge};
use pgdyno_run::prepare::{self, Prepared, prepare};
use pgdyno_run::trial::Trial;
use pgdyno_store::Store;

use super::observing::observing;
use super::run::{ResultArgs, whole_paths};
use crate::screen::Screen;

/// Runs its part, and prints what all of them measured.
///
/// # Errors
/// It cannot join; the trial cannot be prepared, or came to nothing.
pub fn run(
    asked: TrialSpec,
    options: &GeneratorsSpec,
    args: &ResultArgs,
    verbosity: Verbosity,
) -> Result<Exit, Failure> {
    let json_to = args.json.open()?;
    let interrupts = pgdyno_run::interrupts()?;
    let content = prepare::check(&asked)?.content_sha256();
    let store = args.keep.store.open()?;
    store.check_writable()?;
    let room = store.again()?;
    let (mut company, whole) = Company::join(&asked, &content, options, room, interrupts)?;
    let (number, count, key) = (company.generator(), company.generators(), company.key());
    if !verbosity.quiet {
        remark!("pgdyno: generator {number} of {count} of {key}");
    }
    let watch = Watch::start(&company, options.leave)?;
    let part = Own {
        whole,
        args,
        verbosity,
        watch,
        leaves: options.leave,
    };
    let measured = part.measure(&mut company, interrupts);
    let (prepared, kept, own) =
        measured.inspect_err(|failure| company.leave(failure, options.leave))?;
    part.add_up(&mut company, &store, &prepared, json_to)
        .map_err(|failure| match kept {
            Some(Kept { number, .. }) => failure.detail(format!(
                "what this generator measured is trial {number}: pgdyno show {number}"
            )),
            None => failure,
        })
        .map(|exit| match (exit, own) {
            (Exit::Ok, _) | (_, Exit::Interrupted(_)) => own,
            _ => exit,
        })
}

/// This generator's part.
struct Own<'a> {
    whole: TrialSpec,
    args: &'a ResultArgs,
    verbosity: Verbosity,
    watch: Watch,
    /// A signal to this one is for it alone.
    leaves: bool,
}

impl Own<'_> {
    /// Measures. Gives where it is kept, and how pgdyno would exit if it were alone.
    fn measure(
        &self,
        company: &mut Company,
        interrupts: &'static Interrupts,
    ) -> Result<(Prepared, Option<Kept>, Exit), Failure> {
        let whole = &self.whole;
        let prepare = || prepare(whole, &mut self.verbosity.progress(), interrupts);
        let mut prepared = None;
        let observes = company.prepare_once(|| {
            prepared = Some(all_reach(prepare()?)?);
            Ok(())
        })?;
        let mut prepared = match prepared {
            Some(prepared) => prepared,
            None => all_reach(prepare()?)?,
        };
        let share = company.share();
        let mut spec = generators::part(whole, &share);
        spec.observe = observed(spec.observe, observes, company.is_first_of_host()?);
        if spec.target.urls.is_empty() {
            spec.target.urls = vec![prepared.target.address.clone().into()];
        }
        spec.workload = whole_paths(spec.workload);
        let trial = Trial {
            observe: observing(&spec.observe, self.verbosity)?,
            share: Some(share),
            spec,
        };
        let keep = self.args.keep.open()?;
        let keep = keep.begin(&mut prepared, |prepared| {
            // Whoever looks for a tag looks for the whole.
            pgdyno_run::header::header(&trial.spec, prepared)
        })?;
        if let Some(number) = keep.number() {
            company.keep_part(number)?;
        }
        let control = Control::default();
        let mut barrier = Barrier::of(company, &control)?;
        let passed = barrier.passed();
        self.watch.run(&control);
        let mut screen = Screen::new(self.verbosity);
        let mut observers: Observers<'_, Outcome> =
            Observers::new([&mut screen as &mut dyn Observer<Outcome>, &mut barrier]);
        let since = (interrupts, company.interrupted_before());
        let ran = Ran::run_by(&control, trial, &prepared, keep, &mut observers, since);
        self.watch.run_ended();
        if interrupts.count() > company.interrupted_before() && !self.leaves {
            // The watch may not have looked since: a run ends in no time.
            let _ = company.stop_all();
        }
        // From here on Ctrl-C ends waiting for the others.
        company.forget_interrupts();
        let passed = match passed.get() {
            Some(Err(failure)) => return Err(failure),
            Some(Ok(late_us)) => Some(late_us),
            None => None,
        };
        let ran = ran?;
        let exit = ran.measured(interrupts);
        let kept = ran.kept_at();
        let recording = &ran.outcome.recording;
        let is_complete = recording.end == End::Complete && recording.clients.aborted == 0;
        if let Some(Kept {
            number,
            has_arrived,
        }) = kept
        {
            company.done(Part {
                trial: number,
                is_complete,
                has_arrived,
                began_late_us: passed,
                clock: None,
            })?;
        }
        // What could not be kept goes to a file that the error names.
        ran.kept()?;
        Ok((prepared, kept, exit))
    }

    /// Waits for the others, has one of all add up, and prints what came of it.
    fn add_up(
        &self,
        company: &mut Company,
        store: &Store,
        prepared: &Prepared,
        json_to: Sink,
    ) -> Result<Exit, Failure> {
        let (number, own) = company.merge_once(|company| {
            let merged = merge(company, &self.whole, prepared)?;
            self.keep(company, store, prepared, &merged)
        })?;
        let trial = store.trial(&number.to_string())?;
        if own || !matches!(json_to, Sink::None) {
            let outcome = store.outcome(number)?;
            let document = documents::whole(&outcome);
            print_document(&document, json_to)?;
        }
        if !self.verbosity.quiet {
            if !own {
                let committed = text::count(trial.committed.unwrap_or_default());
                let goodput = text::rate(trial.goodput_per_s.unwrap_or_default());
                remark!(
                    "pgdyno: all {} generators: {committed} transactions committed, {goodput}/s",
                    company.generators()
                );
            }
            remark!("pgdyno: kept as trial {number} (pgdyno show {number})");
        }
        Ok(match trial.state {
            State::Partial | State::Failed => Exit::Failed,
            _ => Exit::Ok,
        })
    }

    /// Keeps the whole. Gives its number.
    fn keep(
        &self,
        company: &Company,
        store: &Store,
        prepared: &Prepared,
        merged: &Merged,
    ) -> Result<i64, Failure> {
        let outcome = &merged.outcome;
        let spec = &outcome.spec;
        let mut writer = store.begin(&self.args.header(spec, prepared))?;
        let (number, recording) = (writer.number(), &outcome.recording);
        // Said first: whoever goes on when this one dies finds it.
        company.keep_whole(number)?;
        Observer::<Outcome>::begun(&mut writer, recording.started);
        for second in &recording.seconds {
            writer.keep_second(second.clone());
        }
        for event in &recording.events {
            writer.keep_event(event.kind.word(), event.at_us, &event.text);
        }
        if let Some(why) = writer.finish(outcome)? {
            return Err(why.detail(format!(
                "trial {number}, which is what all generators measured, waits on this host: pgdyno store push"
            )));
        }
        store.copy_observed(merged.observed_by, number)?;
        Ok(number)
    }
}

/// Refuses a server that only this process has.
fn all_reach(prepared: Prepared) -> Result<Prepared, Failure> {
    if prepared.target.kind != TargetKind::Own {
        return Ok(prepared);
    }
    let text = "several generators need a server that all of them reach, not a private one each";
    Err(Failure::with(Exit::Usage, text).hint("name it: --url postgresql://…"))
}

/// What this generator observes: the server is seen by one, a host by one of its generators.
fn observed(asked: ObserveSpec, observes: bool, is_first_of_host: bool) -> ObserveSpec {
    if observes {
        return asked;
    }
    let own = |name: &str| name == "host" || name.starts_with("host.");
    let of_host = match &asked.instruments {
        Wish::Auto => vec!["host".to_owned()],
        Wish::None => Vec::new(),
        Wish::List(names) => names.iter().filter(|name| own(name)).cloned().collect(),
    };
    ObserveSpec {
        instruments: match is_first_of_host && !of_host.is_empty() {
            true => Wish::List(of_host),
            false => Wish::None,
        },
        scrape: Vec::new(),
        metrics_listen: None,
        ..asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_seen_by_one_and_a_host_by_one_of_its_generators() {
        let asked = |instruments| ObserveSpec {
            instruments,
            ..ObserveSpec::default()
        };
        let list =
            |names: &[&str]| Wish::List(names.iter().map(|name| (*name).to_owned()).collect());
        let seen = |wish, observes, first| observed(asked(wish), observes, first).instruments;
        assert_eq!(seen(Wish::Auto, true, false), Wish::Auto);
        assert_eq!(seen(Wish::Auto, false, true), list(&["host"]));
        assert_eq!(seen(Wish::Auto, false, false), Wish::None);
        let some = || list(&["pg.waits", "host.cpu"]);
        assert_eq!(seen(some(), false, true), list(&["host.cpu"]));
        assert_eq!(seen(list(&["pg.waits"]), false, true), Wish::None);
    }
}
