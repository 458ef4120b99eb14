//! What comes before the first transaction, the same for every verb that runs a workload: what was
//! typed becomes a workload, a server, filled tables, and what is known about them.

use std::collections::{BTreeMap, BTreeSet};

use pgdyno_drive::Script;
use pgdyno_measurement::{EventKind, Recording, ScriptRecord};
use pgdyno_platform::interrupt::Interrupts;
use pgdyno_script::Names;
use pgdyno_session::Session;
use pgdyno_spec::{ErrorRule, PGBENCH_RULES, QueryMode};
use sha2::{Digest, Sha256};

use super::compile::compile;
use super::disturb::catalogue;
use super::settings::{self, Way};
use super::shared::{self, Shared};
use super::{follower_reads, new_nodes, observed, pinning, retries, roles, shell};
use crate::validity::{self, HeldBack, Mismatch, Situation};
use pgdyno_database::dialect::Product;
use pgdyno_database::open::{self, Target};
use pgdyno_database::scripts_role::SCRIPTS_ROLE;
use pgdyno_database::{facts, placement, prepared, reach, trouble};
use pgdyno_model::document::{
    EndedBy, Facts, PackFigure, Stalls, Steadiness, TargetKind, WarmupEnd,
};
use pgdyno_model::notebook::Notebook;
use pgdyno_model::observed::Observed;
use pgdyno_model::pooler::PREPARED_WAY_OUT;
use pgdyno_model::{Note, Progress, Severity};
use pgdyno_spec::{Exit, Failure, Isolation, TrialSpec, secret, secret::is_secret_name};
use pgdyno_wire::redact;
use pgdyno_workload::contention::FewRows;
use pgdyno_workload::loader::{self, Others, Request, Watch};
use pgdyno_workload::mix::WeightedScript;
use pgdyno_workload::needs::Needs;
use pgdyno_workload::pack::Pack;
use pgdyno_workload::params::Params;
use pgdyno_workload::resolve::{self, Workload};
use pgdyno_workload::{contention, figures, params, procedures, refusal, scale, sql_words};

/// Everything is there to be run.
pub struct Prepared {
    /// Where to connect; keeps a server of this run's own alive.
    pub target: Target,
    /// The server that is observed in place of the target (`--observe-url`).
    pub observed: Option<Target>,
    /// The workload as it was named.
    pub workload: Workload,
    /// Its scripts, ready to be run.
    pub scripts: Vec<Script>,
    /// The names of their variables.
    pub names: Names,
    /// The variables that every client starts with.
    pub variables: BTreeMap<String, String>,
    /// What is known about the server.
    pub facts: Facts,
    isolation_asked: Option<Isolation>,
    pub product: Product,
    pub errors: &'static [ErrorRule],
    few_rows: Vec<FewRows>,
    mismatches: Vec<Mismatch>,
    clients: usize,
    /// What it shares with the notebook.
    shared: Option<Shared>,
}

/// What a trial is to run, read and checked as far as that goes without a server.
pub struct Checked {
    /// The workload as it was named.
    pub workload: Workload,
    /// What the user chose of a pack's parameters.
    pub chosen: Params,
    scripts: Vec<Script>,
    names: Names,
    given: BTreeMap<String, String>,
}

/// A variable's or parameter's value is not shown from now on, wherever it would appear, if its name is that of a
/// secret.
pub fn keep_out(name: &str, value: &str) {
    if is_secret_name(name) {
        // As it is within a string of SQL, too.
        redact::keep_out(value);
        redact::keep_out(value.trim_matches('\''));
    }
}

/// Reads and checks what can be wrong without a server.
///
/// # Errors
/// A workload that is not there, a script with a mistake, a parameter that the pack does not have.
pub fn check(asked: &TrialSpec) -> Result<Checked, Failure> {
    catalogue::check(&asked.disturb, &asked.target)?;
    let mix = asked.mix.as_deref();
    asked.roles.check()?;
    pinning::cpus(asked)?;
    let mut workload = resolve::workload(&asked.workload, mix)?;
    let usage = |e| Failure::with(Exit::Usage, e);
    let is_accounted = workload.pack.as_ref().is_some_and(Pack::is_accounted);
    if asked.receipts && is_accounted {
        let text = "--receipts does not go with storage accounting: it would count the receipts";
        return Err(Failure::with(Exit::Usage, text)
            .hint("leave --receipts out; in a laboratory: --no-receipts"));
    }
    if asked.roles.client_stamps && is_accounted {
        let text = "stamps do not go with storage accounting: it would count them";
        return Err(Failure::with(Exit::Usage, text).hint("leave --client-stamps out"));
    }
    let pairs = asked.params.iter().filter_map(|text| text.split_once('='));
    pairs.for_each(|(name, value)| keep_out(name, value));
    let (given, chosen) = match &workload.pack {
        Some(pack) => (
            BTreeMap::new(),
            Params::parse(pack, mix, &asked.params)
                .map_err(usage)?
                .trusted(asked.compatible.trusts_params),
        ),
        None => (
            params::variables(&asked.params).map_err(usage)?,
            Params::default(),
        ),
    };
    if let Some(pack) = &workload.pack {
        let values = with_clients(&chosen.or_defaults(pack), asked);
        // A need that cannot be computed is a mistake of the parameters; anything else, of the pack.
        pack.needs(mix, &values).map_err(usage)?;
        workload.make(&values).map_err(Failure::new)?;
        refuse(&workload, None, &chosen, &values)?;
    }
    let (scripts, names) = compiled(&workload, asked)?;
    Ok(Checked {
        workload,
        chosen,
        scripts,
        names,
        given,
    })
}

impl Checked {
    /// Its scripts with their commands, as a notebook keeps them.
    pub fn script_records(&self) -> Vec<ScriptRecord> {
        self.scripts.iter().map(Script::record).collect()
    }

    /// What tells its scripts from others that have the same names: SHA-256, in hexadecimal.
    pub fn content_sha256(&self) -> String {
        let pack = self.workload.pack.as_ref().map(Pack::content_hash);
        pack.unwrap_or_else(|| {
            let mut hash = Sha256::new();
            for script in &self.workload.scripts {
                // With its length before it: no two lists of texts are one text.
                hash.update((script.text.len() as u64).to_be_bytes());
                hash.update(&script.text);
            }
            let hash = hash.finalize();
            hash.iter().map(|byte| format!("{byte:02x}")).collect()
        })
    }

    /// Makes it as this product needs it.
    ///
    /// # Errors
    /// It cannot be run there, or its parameters do not go together with the tables that are there.
    fn suit(
        &mut self,
        session: &mut Session,
        product: &Product,
        asked: &TrialSpec,
    ) -> Result<(), Failure> {
        if let Some(pack) = self.workload.pack.clone() {
            let refused = product
                .takes_no_packs()
                .filter(|_| !pack.tables().is_empty());
            if let Some((why, way_out)) = refused {
                return Err(Failure::new(why).hint(way_out));
            }
            let name = product.dialect.name;
            self.chosen = std::mem::take(&mut self.chosen).on(&pack, name);
            let values = with_clients(&self.chosen.or_defaults(&pack), asked);
            if self.workload.make(&values).map_err(Failure::new)? {
                (self.scripts, self.names) = compiled(&self.workload, asked)?;
            }
            if refusal::needs_tables(&pack, name) {
                let values = loader::known(session, &pack, &self.chosen)?;
                let values = with_clients(&values, asked);
                refuse(&self.workload, Some(name), &self.chosen, &values)?;
            }
        }
        match self.workload.needs.refused_by(product) {
            Some(why) => Err(Failure::new(why)),
            None => Ok(()),
        }
    }
}

/// A pack's scripts and rules also see how many clients there are, unless it has a parameter of this
/// name.
fn with_clients(values: &BTreeMap<String, String>, asked: &TrialSpec) -> BTreeMap<String, String> {
    let mut values = values.clone();
    let clients = || asked.clients().to_string();
    values.entry("clients".to_owned()).or_insert_with(clients);
    values
}

/// The scripts, ready to be sent in the mode that they need or the user wants.
fn compiled(workload: &Workload, asked: &TrialSpec) -> Result<(Vec<Script>, Names), Failure> {
    let mode = workload.needs.query_mode(asked.query_mode);
    let mode = mode.map_err(|e| Failure::with(Exit::Usage, e))?;
    let retry = asked.retry.retry();
    let left = (asked.receipts, asked.roles.client_stamps);
    compile(&workload.scripts, mode, retry, asked.allow_shell, left)
}

/// Refuses prepared statements where they are known not to hold, before any is left on a session of others.
fn keeps_statements(
    asked: &TrialSpec,
    (target, product): (&Target, &Product),
    session: &mut Session,
    workload: &Workload,
) -> Result<(), Failure> {
    let mode = workload.needs.query_mode(asked.query_mode);
    if mode != Ok(QueryMode::Prepared) || target.kind == TargetKind::Own {
        return Ok(());
    }
    if product.has_one_session() {
        let text = "prepared statements of several clients are one in PGlite, which has one session for all";
        return match asked.clients() {
            1 => Ok(()),
            _ => Err(Failure::new(text)
                .hint("-M extended (pgdyno workload: --method noprepare), or one client: -c 1, -threads 1")),
        };
    }
    if product.is_other() || (target.endpoints.len() == 1 && session.is_own()) {
        return Ok(());
    }
    let lost = target
        .endpoints
        .iter()
        .find(|endpoint| prepared::are_lost(endpoint));
    match lost {
        None => Ok(()),
        Some(endpoint) => Err(Failure::new(format!(
            "prepared statements do not work at {}: transactions of a client run on sessions that it shares",
            endpoint.name
        ))
        .hint(PREPARED_WAY_OUT)),
    }
}

/// Refuses parameters that do not go together in a pack.
fn refuse(
    workload: &Workload,
    dialect: Option<&str>,
    params: &Params,
    values: &BTreeMap<String, String>,
) -> Result<(), Failure> {
    let Some(pack) = &workload.pack else {
        return Ok(());
    };
    let why = refusal::of_run(pack, &workload.scripts, dialect, params, values);
    match why.map_err(Failure::new)? {
        None => Ok(()),
        Some(why) => Err(Failure::with(Exit::Usage, why)),
    }
}

/// Does it all. An interrupt ends it in good order.
pub fn prepare(
    asked: &TrialSpec,
    progress: &mut dyn Progress,
    interrupts: &'static Interrupts,
) -> Result<Prepared, Failure> {
    prepare_with(asked, progress, interrupts, None)
}

/// The same, where other processes fill missing tables, too: by [`help`].
///
/// # Errors
/// As [`prepare`].
pub fn prepare_with(
    asked: &TrialSpec,
    progress: &mut dyn Progress,
    interrupts: &'static Interrupts,
    others: Option<&dyn Others>,
) -> Result<Prepared, Failure> {
    // What can be wrong without a server is said before one is started.
    let checked = check(asked)?;
    let target = open::open(&asked.target, &mut |step| progress.step(&step.to_string()))?;
    for warning in &target.warnings {
        progress.warning(warning);
    }
    let mut target = with_settings(with_rights(target, asked), asked)?;
    // A run is named after the server that it measures. An experiment keeps one name, wherever its trials go.
    if target.searches_hosts() {
        let session = target.connect()?;
        target = target.reached(session.candidate());
        session.close();
    }
    prepare_on(target, checked, asked, (progress, interrupts), others)
}

/// Fills the tables that another process prepares, together with it: the same trial was asked for there.
///
/// # Errors
/// They cannot be filled from here; an interrupt. The others do what is missing.
pub fn help(
    asked: &TrialSpec,
    progress: &mut dyn Progress,
    interrupts: &'static Interrupts,
    others: &dyn Others,
) -> Result<(), Failure> {
    let checked = check(asked)?;
    let (Some(pack), Some(target)) = (checked.workload.pack, open::existing(&asked.target)?) else {
        return Ok(());
    };
    let target = with_settings(with_rights(target, asked), asked)?;
    let mut session = target.connect()?;
    let mut watch = Watch {
        endpoints: &target.endpoints,
        progress,
        interrupts: Some(interrupts),
        others: Some(others),
    };
    let request = Request::keeping(&pack, &checked.chosen);
    loader::help(&mut session, &request, &mut watch).map_err(|failure| target.explain(failure))
}

/// The target with the rights that scripts are to have on a private server.
fn with_rights(target: Target, asked: &TrialSpec) -> Target {
    if asked.allow_shell {
        target.with_all_rights()
    } else {
        target
    }
}

/// The target with the settings that sessions are to have.
fn with_settings(target: Target, asked: &TrialSpec) -> Result<Target, Failure> {
    let mut settings = asked.settings.clone();
    settings.extend(asked.isolation.iter().flat_map(|level| level.setting()));
    if settings.is_empty() {
        return Ok(target);
    }
    // How a session gets it depends on the product.
    let mut session = target.connect()?;
    let product = Product::ask(&mut session)
        .map_err(|e| trouble::server(&e, "could not read the server's version"))?;
    of_sessions(&mut session, &asked.settings)?;
    session.close();
    Ok(target.with_settings(product.dialect, &settings))
}

/// Refuses settings that a session cannot have: only a sweep changes a whole server, and puts it back.
fn of_sessions(session: &mut Session, settings: &BTreeMap<String, String>) -> Result<(), Failure> {
    if settings.is_empty() {
        return Ok(());
    }
    let ways = settings::ways(session, settings.keys().map(String::as_str), false)?;
    match ways.iter().find(|(_, way)| **way == Way::System) {
        None => Ok(()),
        Some((name, _)) => Err(Failure::new(format!(
            "settings.{name} is a server setting, and a single run does not change the server"
        ))
        .hint("run it as a sweep, which changes and restores it")),
    }
}

/// The same, on a target that is open already and whose sessions have the settings asked for.
pub fn prepare_on(
    target: Target,
    mut checked: Checked,
    asked: &TrialSpec,
    (progress, interrupts): (&mut dyn Progress, &'static Interrupts),
    others: Option<&dyn Others>,
) -> Result<Prepared, Failure> {
    let interrupts_before = interrupts.count();
    new_nodes::check(asked, &target)?;
    let target = roles::given(target, asked)?;
    if let Some(pair) = target.pair().filter(|_| !target.roles.is_empty()) {
        // The last trial may have killed one of the two, and scripts of a role are to find it.
        pair.make_ready().map_err(trouble::own_server)?;
    }
    // Before tables are loaded, which may take long.
    let reached = if target.endpoints.len() > 1 {
        let may_miss = asked.errors.reconnect;
        reach::each_endpoint(&target, may_miss)?
    } else {
        Vec::new()
    };
    let mut session = target.connect()?;
    let product = Product::ask(&mut session)
        .map_err(|e| trouble::server(&e, "could not read the server's version"))?;
    // Before anything is loaded for it.
    retries::check(asked, &product)?;
    follower_reads::check(asked, &product, &checked.workload.scripts)?;
    checked.suit(&mut session, &product, asked)?;
    keeps_statements(asked, (&target, &product), &mut session, &checked.workload)?;
    let observed = observed::target(asked, &mut session, &product, progress)?;
    let reached_by_roles = roles::check(asked, &target, &product, &checked.workload)?;
    let Checked {
        mut workload,
        chosen,
        mut scripts,
        mut names,
        given,
    } = checked;
    let (variables, mismatches) = match &workload.pack {
        Some(pack) => {
            let needed = &workload.needs.procedures;
            // A private server is reached by no other.
            let others = others.filter(|_| target.kind != TargetKind::Own);
            let mut watch = Watch {
                endpoints: &target.endpoints,
                progress,
                interrupts: Some(interrupts),
                others,
            };
            let variables = loaded(&target, &mut session, (pack, &chosen), &mut watch)?;
            procedures::ensure(&mut session, product.dialect, pack, needed, &variables)?;
            (variables, Vec::new())
        }
        None => of_scripts(&mut session, &workload.scripts, given),
    };
    let mut target = target;
    if let Some(pack) = &workload.pack {
        let settings = pack.session_settings(product.dialect.name, &variables);
        let settings = settings.map_err(Failure::new)?;
        if !asked.allow_shell {
            let of = format!("pack {}", pack.name());
            let pairs = settings.iter().map(|(name, value)| (&**name, &**value));
            shell::refuse_settings(&of, pairs)?;
        }
        target = target.with_settings(product.dialect, &settings);
        // The tables may have been made with other parameters than the defaults.
        let values = with_clients(&variables, asked);
        refuse(&workload, Some(product.dialect.name), &chosen, &values)?;
        if workload.make(&values).map_err(Failure::new)? {
            (scripts, names) = compiled(&workload, asked)?;
        }
    }
    let begins = roles::begins_of({ workload.scripts.iter() }.map(|script| script.text.as_str()));
    let begins = begins.as_deref().map_err(|why| *why);
    let mut direct = observed.as_ref().map(Target::connect).transpose()?;
    let asked_session = direct.as_mut().unwrap_or(&mut session);
    let mut facts = facts::of_cluster(
        facts::collect(asked_session),
        asked_session,
        product.dialect,
        begins,
    );
    facts.reached = match target.endpoints.as_slice() {
        [only] => vec![reach::by(&mut session, &product, &only.name)],
        _ => reached,
    };
    let used = workload.scripts.iter();
    let used = used.flat_map(|script| sql_words::used_tables(&script.text));
    let used: BTreeSet<String> = used.collect();
    facts.tables = facts::tables(&mut session, product.dialect, used);
    let touched = workload.scripts.iter();
    let touched = touched.flat_map(|script| sql_words::touched_tables(&script.text));
    let touched: BTreeSet<String> = touched.collect();
    let touched: Vec<String> = touched.into_iter().collect();
    facts.placement = placement::before(&target, product.dialect, &facts, Some(&touched));
    let few_rows = contention::few_rows(&mut session, &workload.scripts, asked.clients() as usize);
    // What could not be asked any more is only unknown.
    if interrupts.count() > interrupts_before {
        let code = interrupts.exit_code().unwrap_or(130);
        let text = "interrupted before the trial began";
        return Err(Failure::with(Exit::Interrupted(code), text));
    }
    let levels = reached_by_roles.iter();
    let levels = levels.map(|(reached, level)| (reached.endpoint.as_str(), level));
    facts.isolation = roles::one_level(facts.isolation, levels);
    facts
        .reached
        .extend(reached_by_roles.into_iter().map(|(reached, _)| reached));
    roles::assign(asked, &target, &workload.scripts, &mut scripts);
    if product.is_other()
        && let Some(what) = product.warning()
    {
        progress.warning(&what);
    }
    Ok(Prepared {
        target,
        observed,
        workload,
        scripts,
        names,
        variables,
        facts,
        isolation_asked: asked.isolation,
        errors: product.dialect.retries.errors,
        product,
        few_rows,
        mismatches,
        clients: asked.clients() as usize,
        shared: None,
    })
}

/// Fills a pack's tables where that is wanting; gives the variables that go with them.
fn loaded(
    target: &Target,
    session: &mut Session,
    (pack, chosen): (&Pack, &Params),
    watch: &mut Watch<'_>,
) -> Result<BTreeMap<String, String>, Failure> {
    let loaded = loader::ensure_loaded(session, pack, chosen, watch)
        .map_err(|failure| target.explain(failure))?;
    let progress = &mut *watch.progress;
    for means in &loaded.means {
        progress.step(&format!("note: loaded: {means}"));
    }
    for remark in &loaded.remarks {
        progress.warning(remark);
    }
    Ok(loaded.variables)
}

/// The variables of script files: what their tables say, and over it what was given, with where the
/// two differ.
fn of_scripts(
    session: &mut Session,
    scripts: &[WeightedScript],
    given: BTreeMap<String, String>,
) -> (BTreeMap<String, String>, Vec<Mismatch>) {
    let mut variables = scale::of_scripts(session, scripts);
    let mut mismatches = Vec::new();
    for (variable, used) in given {
        let loaded = variables.insert(variable.clone(), used.clone());
        if let Some(loaded) = loaded.filter(|loaded| !scale::same(loaded, &used)) {
            mismatches.push(Mismatch {
                variable,
                used,
                loaded,
            });
        }
    }
    (variables, mismatches)
}

impl Prepared {
    /// The variables with secrets masked, to be kept and shown.
    pub fn variables_kept(&self) -> BTreeMap<String, String> {
        let variables = self.variables.iter();
        variables
            .map(|(name, value)| (name.clone(), secret::masked(name, value).to_owned()))
            .collect()
    }

    pub fn query_mode(&self) -> QueryMode {
        let first = self.scripts.first();
        first.map_or_else(QueryMode::default, |script| script.program.mode())
    }

    /// For a command whose scripts and variables are ready and whose tables are the user's affair.
    /// The server is asked about itself only on the session given.
    pub fn of_scripts(
        target: Target,
        texts: Vec<WeightedScript>,
        (scripts, names): (Vec<Script>, Names),
        variables: BTreeMap<String, String>,
        session: Option<&mut Session>,
        clients: usize,
    ) -> Self {
        let (facts, few_rows, product) = match session {
            Some(session) => (
                facts::collect(session),
                contention::few_rows(session, &texts, clients),
                Product::presumed(session),
            ),
            None => (
                Facts::unknown("not requested"),
                Vec::new(),
                Product::recognise(""),
            ),
        };
        let names_of_scripts: Vec<&str> = texts.iter().map(|text| text.name.as_str()).collect();
        Self {
            observed: None,
            target,
            workload: Workload {
                name: names_of_scripts.join(" "),
                pack: None,
                mix: None,
                scripts: texts,
                needs: Needs::default(),
            },
            scripts,
            names,
            variables,
            facts,
            isolation_asked: None,
            product,
            errors: PGBENCH_RULES,
            few_rows,
            mismatches: Vec::new(),
            clients,
            shared: None,
        }
    }

    /// It is going to be kept there: finds out whether that is where it runs, for the notes.
    pub fn is_kept_in(&mut self, notebook: &dyn Notebook) {
        self.shared = shared::with(&self.target, self.product.dialect, notebook);
    }

    /// The validity notes on a run of this, as far as they can be known: what was recorded, how a
    /// warm-up ended whose end was to be found, and what instruments saw are known after it.
    pub fn notes(
        &self,
        recording: Option<&Recording>,
        warmup: Option<WarmupEnd>,
        observed: Option<&Observed>,
        held_back: Option<HeldBack>,
    ) -> Vec<Note> {
        let warmup_us = recording.and_then(|r| r.warmup.as_ref().map(|phase| phase.elapsed_us));
        let cut_short = warmup.filter(|ended| ended.by == EndedBy::Limit);
        let mut notes = validity::notes(&Situation {
            facts: Some(&self.facts),
            isolation_asked: self.isolation_asked.map(Isolation::name),
            clients: self.clients,
            writes: self
                .workload
                .scripts
                .iter()
                .any(|s| sql_words::writes(&s.text)),
            few_rows: &self.few_rows,
            mismatches: &self.mismatches,
            shared: self.shared,
            threads: recording.map_or(&[], |r| &r.threads),
            added: recording.map(|r| &r.added),
            lost_server: recording.filter(|r| r.has_lost_server()).map(|r| {
                let without = r.outages.unended + r.clients.disconnected as u64;
                (without, r.outage_share().unwrap_or_default())
            }),
            without_tls: recording.and_then(|r| {
                let mut events = r.events.iter();
                let said = events.find(|event| event.kind == EventKind::WithoutTls);
                said.map(|event| event.text.as_str())
            }),
            schedule: recording.and_then(validity::ScheduleCounts::of),
            stopped: recording
                .map(|recording| validity::Stopped::of(recording, warmup_us.unwrap_or(0)))
                .unwrap_or_default(),
            held_back,
            stalls: recording.map(Stalls::from).unwrap_or_default(),
            courses: &recording.map(Steadiness::all).unwrap_or_default(),
            warmup_cut_short: cut_short.zip(warmup_us),
            observed,
            measured_from_us: i64::try_from(warmup_us.unwrap_or(0)).unwrap_or(i64::MAX),
        });
        notes.extend(recording.and_then(|recording| self.lack_of_rights(recording)));
        notes.extend(recording.and_then(validity::missing_rows));
        notes.extend(self.notice());
        notes
    }

    /// Transactions that failed for what scripts may not do on a private server.
    fn lack_of_rights(&self, recording: &Recording) -> Option<Note> {
        let failed = recording.measured.all().counts.failed;
        let number = failed.get(&pgdyno_measurement::Failure::from_sqlstate("42501"))?;
        self.target.is_administered_apart().then(|| {
            Note::new(
                "no-rights",
                Severity::Serious,
                format!(
                    "{number} transactions failed for a missing right (42501): on a private server scripts \
                     run in the role {SCRIPTS_ROLE}, which may do nothing on this host"
                ),
                "if you trust the script: --allow-shell",
            )
        })
    }

    /// What the workload's pack has every reader know.
    fn notice(&self) -> Option<Note> {
        let pack = self.workload.pack.as_ref()?;
        let sentence = match pack.notice(&self.variables)? {
            Ok(notice) => notice,
            Err(mistake) => mistake,
        };
        let remedy = "compare it with results of the same pack and parameters only";
        Some(Note::new("pack-notice", Severity::Notice, sentence, remedy))
    }

    /// What the workload's pack makes of a run of this.
    pub fn figures(&self, recording: &Recording) -> Vec<PackFigure> {
        let Some(pack) = &self.workload.pack else {
            return Vec::new();
        };
        let names = self.workload.scripts.iter().map(|script| &*script.name);
        let names: Vec<&str> = names.collect();
        figures::of(pack, &names, &recording.measured, &self.variables)
    }
}
