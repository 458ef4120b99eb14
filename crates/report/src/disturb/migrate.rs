//! What `pgdyno lab migrate` found: the decision first, then what each form did, whom it waited for and who
//! waited behind it.

use pgdyno_model::document::answer::{Answer, AnswerState, Sure};
use pgdyno_model::document::disturb_lab::{DisturbLab, DisturbRepeat, DisturbTarget};
use pgdyno_model::document::section::{FigureTable, SectionPart, TableCell, TableColumn};
use pgdyno_model::document::{
    MigrationHolder, MigrationRun, MigrationStandby, MigrationStatement, Proof,
};
use pgdyno_spec::text as figures;

use super::answer::{of, remedies, sure};

/// Where the page shows it.
const SECTION: &str = "disturb";
const LINK: &str = "Repeats";
/// Shorter times without a commit are no outage: clients have such pauses by themselves. Nor are those that
/// controls have, too.
const OUTAGE_MIN_US: f64 = 100_000.0;
/// So many times that of controls is more than theirs.
const BEYOND_CONTROLS: f64 = 2.0;
/// So many sessions that it waited for are shown, those that it waited for longest.
const HOLDERS_SHOWN: usize = 4;
/// The watcher looks so often: what it has seen once lasted less.
const LOOK_US: u64 = 10_000;
/// Errors that clients have because of a schema that changed (plancache.c, RevalidateCachedQuery), and on standbys
/// because of a lock that is replayed (postgres.c, ProcessRecoveryConflictInterrupt).
const SIDE_EFFECTS: [(&str, &str); 2] = [
    ("0A000", "cached plan must not change result type"),
    ("40001", "conflict with recovery"),
];
/// Characters of a statement, and of a session's query, that are shown.
const STATEMENT_CHARS: usize = 70;

/// Whether its targets are forms of a migration.
pub(super) fn is_of(lab: &DisturbLab) -> bool {
    lab.lab == "migrate"
}

/// The longest time without a commit, over all runs of all forms that count; `None`: there is none.
pub fn outage_us(lab: &DisturbLab) -> Option<u64> {
    let repeats = lab.targets.iter().flat_map(|target| &target.repeats);
    let figures = repeats
        .filter(|repeat| repeat.counts)
        .filter_map(|repeat| repeat.figures.as_ref());
    figures.map(|it| it.no_service_us).max()
}

/// What a form came to, over its runs.
struct Form<'a> {
    target: &'a DisturbTarget,
    runs: Vec<&'a MigrationRun>,
    /// The median time without a commit; `None`: no run counts.
    outage_us: Option<f64>,
}

impl<'a> Form<'a> {
    fn of(target: &'a DisturbTarget) -> Self {
        let runs = target
            .repeats
            .iter()
            .filter_map(|repeat| repeat.migration.as_deref());
        Self {
            target,
            runs: runs.collect(),
            outage_us: of(target, "no_service_us").and_then(|it| it.median),
        }
    }

    fn undone(&self) -> usize {
        self.runs.iter().filter(|run| !run.is_done).count()
    }

    /// The time without a commit that it is not to exceed.
    fn limit_us(&self) -> f64 {
        let controls = self
            .target
            .controls_summary
            .iter()
            .find(|it| it.figure == "no_service_us");
        let control_us = controls.and_then(|it| it.median).unwrap_or(0.0);
        (control_us * BEYOND_CONTROLS).max(OUTAGE_MIN_US)
    }

    fn stops_clients(&self) -> bool {
        self.outage_us.is_some_and(|us| us >= self.limit_us())
    }

    fn retries(&self) -> u64 {
        self.runs.iter().map(|run| run.retries).max().unwrap_or(0)
    }

    /// `as written it stops all clients for 5.00 s`.
    fn words(&self) -> String {
        let name = self.name();
        let Some(us) = self.outage_us else {
            let why = self
                .target
                .repeats
                .iter()
                .flat_map(|repeat| &repeat.troubles)
                .next();
            let why = why.map_or_else(|| "no run counts".to_owned(), Clone::clone);
            return format!("{name} not known: {why}");
        };
        let tries = match self.retries() {
            0 => String::new(),
            retries => format!(
                ", {}",
                figures::plural(retries + 1, "try").replace("trys", "tries")
            ),
        };
        let mut words = if self.stops_clients() {
            format!(
                "{name} it stops all clients for {}{tries}",
                figures::time(us)
            )
        } else {
            format!(
                "{name} it never stops all clients for longer than {}{tries}",
                figures::time(self.limit_us())
            )
        };
        if self.undone() > 0 {
            let tried_us = self.runs.iter().filter(|run| !run.is_done);
            let tried_us = tried_us.map(|run| run.ended_us()).max().unwrap_or(0);
            words.push_str(&format!(
                ", and gives up in {} of {} after {}",
                self.undone(),
                figures::plural(self.runs.len() as u64, "run"),
                figures::time(tried_us as f64)
            ));
        }
        words
    }

    /// `as written`, `with lock_timeout and retries`, `in its online form`.
    fn name(&self) -> String {
        let title = &self.target.title;
        if title.starts_with("lock_timeout") {
            format!("with {title}")
        } else if title.starts_with("online form") {
            format!("in its {title}")
        } else {
            title.clone()
        }
    }
}

/// The answer; `None`: no trial was begun.
pub(super) fn answer(lab: &DisturbLab) -> Option<Answer> {
    let forms: Vec<Form<'_>> = lab.targets.iter().map(Form::of).collect();
    forms.first()?;
    let words: Vec<String> = forms.iter().map(Form::words).collect();
    let is_good =
        |form: &&Form<'_>| !form.stops_clients() && form.undone() == 0 && form.outage_us.is_some();
    let is_as_written = |form: &&Form<'_>| form.target.title.starts_with("as written");
    let decision = match forms.iter().find(is_good) {
        // The first of them is without a reader.
        Some(form)
            if form.target.title == "as written"
                && forms.iter().filter(is_as_written).all(|it| is_good(&it)) =>
        {
            "It may be run as written under this load: "
        }
        Some(form) if form.target.title == "as written" => {
            "Safe as written under this load, but not behind a long reader: "
        }
        Some(_) if forms.len() > 1 => "Not as written: ",
        _ => "",
    };
    let mut sentence = format!("{decision}{}", words.join("; "));
    if let Some(first) = sentence.get(..1).map(str::to_uppercase) {
        sentence.replace_range(..1, &first);
    }
    let counted = |form: &Form<'_>| of(form.target, "no_service_us").map_or(0, |it| it.n);
    let least = forms.iter().map(counted).min().unwrap_or(0);
    let state = match least {
        0 => AnswerState::NotKnown,
        1 => {
            sentence.push_str(" (one run of each says little of the next)");
            AnswerState::CannotTell
        }
        _ => AnswerState::Known,
    };
    let under = lab
        .offered
        .as_ref()
        .map_or_else(String::new, |offered| format!(", under {offered}"));
    let mut evidence = Vec::new();
    for form in &forms {
        let name = form.name();
        if let Some(us) = form.outage_us {
            evidence.push(
                Proof::new(figures::time(us), format!("without a commit, {name}"))
                    .at(SECTION, LINK),
            );
        }
        for (count, what) in endings(form.target) {
            let words = format!("tries ended with \"{what}\", {name}");
            evidence.push(Proof::new(figures::count(count), words).at(SECTION, LINK));
        }
        if let Some(run) = form
            .runs
            .iter()
            .max_by_key(|run| run.waited_us())
            .filter(|run| run.waited_us() > 0)
        {
            let whom = run
                .holder()
                .map_or_else(String::new, |holder| format!(" for {}", holder.words()));
            let words = format!("waited{whom}, {name}");
            evidence
                .push(Proof::new(figures::time(run.waited_us() as f64), words).at(SECTION, LINK));
        }
    }
    let of_migration = forms.iter().flat_map(|form| {
        let name = form.name();
        form.runs.iter().filter_map(move |run| {
            let left = run.left.as_ref()?;
            Some(Sure::limit(format!("Not finished, {name}"), left.clone()))
        })
    });
    let mut checks: Vec<Sure> = of_migration.take(1).collect();
    let mut is_few = false;
    for check in sure(lab) {
        // It is so of all forms; receipts are not asked for.
        let is_of_all = check.name.starts_with("Too few") && std::mem::replace(&mut is_few, true);
        if !is_of_all && !check.name.starts_with("Lost writes were not") {
            checks.push(check);
        }
    }
    Some(Answer {
        question: format!("What was asked: may this migration be run, and in which form{under}?"),
        sentence,
        state,
        is_harm: false,
        evidence,
        sure: checks,
        remedies: remedies(lab),
        ..Answer::default()
    })
}

/// Tries of clients that a migration's side effects ended: how many over all runs, and the server's words.
fn endings(target: &DisturbTarget) -> Vec<(u64, &'static str)> {
    let of = |(sqlstate, words): (&str, &'static str)| {
        let reasons = target.repeats.iter().flat_map(|repeat| &repeat.reasons);
        let ended = reasons.filter(|reason| {
            reason.sqlstate.as_deref() == Some(sqlstate) && reason.message.contains(words)
        });
        (ended.map(|reason| reason.tries).sum::<u64>(), words)
    };
    let all = SIDE_EFFECTS.into_iter().map(of);
    all.filter(|(count, _)| *count > 0).collect()
}

fn dash() -> String {
    "–".to_owned()
}

/// The forms side by side.
pub(super) fn table(lab: &DisturbLab) -> FigureTable {
    let columns = TableColumn::named(
        "form",
        [
            "no commit s",
            "missed",
            "p99 before",
            "during",
            "after",
            "waited s",
            "queue",
            "retries",
            "done",
        ],
    );
    let mut table = FigureTable::new("", columns);
    for target in &lab.targets {
        let form = Form::of(target);
        let median = |figure: &str| of(target, figure).and_then(|it| it.median);
        let most = |read: fn(&MigrationRun) -> u64| form.runs.iter().map(|run| read(run)).max();
        let seconds = |us: f64| figures::fixed(us / 1e6, 2);
        let missed = median("missed").map(|missed| figures::count(missed.round() as u64));
        let mut cells = vec![
            target.title.clone(),
            form.outage_us.map_or_else(dash, seconds),
            missed.unwrap_or_else(dash),
        ];
        cells.extend(["before", "during", "after"].map(|phase| p99(&target.repeats, phase)));
        cells.extend([
            most(MigrationRun::waited_us).map_or_else(dash, |us| seconds(us as f64)),
            most(MigrationRun::queue_max).map_or_else(dash, figures::count),
            most(|run| run.retries).map_or_else(dash, figures::count),
            format!("{} of {}", form.runs.len() - form.undone(), form.runs.len()),
        ]);
        table.row(cells.into_iter().map(TableCell::from));
    }
    table
}

/// The median of a phase's p99 over the runs that count.
fn p99(repeats: &[DisturbRepeat], phase: &str) -> String {
    let figures_of = repeats
        .iter()
        .filter(|repeat| repeat.counts)
        .filter_map(|repeat| repeat.figures.as_ref());
    let mut all: Vec<u64> = figures_of
        .flat_map(|it| &it.phases)
        .filter(|it| it.phase.name == phase)
        .filter_map(|it| it.response.as_ref().unwrap_or(&it.service).p99_us)
        .collect();
    all.sort_unstable();
    let middle = all.get(all.len() / 2).copied();
    middle.map_or_else(dash, |us| figures::time(us as f64))
}

/// What the migration of this form did, at the run that waited longest.
pub(super) fn of_form(target: &DisturbTarget) -> Option<SectionPart> {
    let runs = target
        .repeats
        .iter()
        .filter_map(|repeat| Some((repeat.trial, repeat.migration.as_deref()?)));
    let (trial, run) = runs.max_by_key(|(_, run)| run.waited_us())?;
    let mut lines: Vec<String> = run.statements.iter().map(of_statement).collect();
    let mut holders: Vec<&MigrationHolder> = run.holders.iter().collect();
    holders.sort_by_key(|holder| std::cmp::Reverse(holder.to_us - holder.from_us));
    for holder in holders.iter().take(HOLDERS_SHOWN) {
        let age = holder.transaction_us.map_or_else(String::new, |us| {
            format!(", its transaction {} old", figures::time(us as f64))
        });
        let lasted = match holder.to_us - holder.from_us {
            0..LOOK_US => format!("less than {}", figures::time(LOOK_US as f64)),
            us => figures::time(us as f64),
        };
        let words = format!(
            "{} on {} for {lasted}, for {}{age}: {}",
            holder.mode,
            holder.on,
            holder.words(),
            short(&holder.query)
        );
        lines.push(format!("waited: {words}"));
    }
    if run.victims_total > 0 {
        let victims = run.victims.first().map_or_else(String::new, |it| {
            format!(
                ", the longest {}: {}",
                figures::time(it.waited_us as f64),
                short(&it.query)
            )
        });
        let words = format!(
            "{}, {} at most at once{victims}",
            figures::plural(run.victims_total, "session"),
            figures::count(run.queue_max())
        );
        lines.push(format!("behind it: {words}"));
    }
    for standby in &run.standbys {
        lines.push(format!("standby: {}", of_standby(standby)));
    }
    for (count, what) in endings(target) {
        let tries = figures::plural(count, "try").replace("trys", "tries");
        let words = format!("{tries} ended with \"{what}\", over all runs");
        lines.push(format!("clients: {words}"));
    }
    for (word, what) in [
        ("failed", &run.error),
        ("left", &run.left),
        ("not seen", &run.unseen),
    ] {
        lines.extend(what.iter().map(|what| format!("{word}: {what}")));
    }
    let title = format!("In trial {trial}, as {} runs it", run.tool);
    Some(SectionPart::text(&title, lines))
}

fn of_standby(it: &MigrationStandby) -> String {
    let replayed = it.replayed_after_us.map_or_else(
        || "had not replayed it when the trial was over".to_owned(),
        |us| format!("had replayed it {} after its end", figures::time(us as f64)),
    );
    let cancelled = it.cancelled.map_or_else(
        || "cancelled queries not known, as --url does not name it".to_owned(),
        |count| {
            format!(
                "{} cancelled, {} for a lock",
                figures::plural(count, "query").replace("querys", "queries"),
                figures::count(it.cancelled_by_lock.unwrap_or(0))
            )
        },
    );
    format!(
        "{}: {} and {} behind at most; {replayed}; {cancelled}",
        it.name,
        figures::bytes(it.behind_bytes_max as f64),
        figures::time(it.behind_us_max as f64)
    )
}

fn of_statement(it: &MigrationStatement) -> String {
    let held = figures::time((it.held_until_us - it.began_us) as f64);
    // Those of a table's long values go with the table's.
    let locks = it
        .locks
        .iter()
        .filter(|lock| !lock.relation.starts_with("pg_toast."));
    let locks: Vec<String> = locks
        .map(|lock| format!("{} {}", lock.mode, lock.relation))
        .collect();
    let mut words = format!("{}: {held}", short(&it.statement));
    if it.waited_us > 0 {
        words.push_str(&format!(
            ", {} of it waiting",
            figures::time(it.waited_us as f64)
        ));
    }
    if !locks.is_empty() {
        let seen = if it.locks_are_whole {
            ""
        } else {
            " (seen while it ran)"
        };
        words.push_str(&format!("; {}{seen}", locks.join(", ")));
    }
    if !it.rewritten.is_empty() {
        words.push_str(&format!("; new files of {}", it.rewritten.join(", ")));
    }
    if !it.says.is_empty() {
        words.push_str(&format!("; {}", it.says.join("; ")));
    }
    if let Some(bytes) = it.wal_bytes {
        words.push_str(&format!(
            "; {} of WAL, the clients' too",
            figures::bytes(bytes as f64)
        ));
    }
    format!("line {}: {words}", it.line)
}

fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(STATEMENT_CHARS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
