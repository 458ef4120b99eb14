//! Changing settings of the whole server, and putting them back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use pgdyno_session::{Session, quote_ident, quote_literal};

use super::journal::{Header, Journal};
use super::restart::{Restart, restart};
use crate::experiment::nearest;
use pgdyno_database::open::Target;
use pgdyno_database::{admin, trouble};
use pgdyno_model::document::TargetKind;
use pgdyno_spec::Failure;

/// How long the server may take to read its configuration again.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(10);

/// What tells a row of pg_stat_activity from all others, earlier and later ones included.
pub(super) const SESSION: &str = "pid || ' ' || extract(epoch FROM backend_start)";

/// How a setting is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// For the sessions of the trial alone, when they connect.
    Session,
    System,
    /// For the whole server, when it starts.
    Restart,
}

impl Way {
    pub fn word(self) -> &'static str {
        match self {
            Way::Session => "session",
            Way::System => "alter system",
            Way::Restart => "alter system and restart",
        }
    }
}

/// How each of these settings can be set on this server; `restarts`: it can be restarted. `session` is one of
/// those whose settings they would be.
///
/// # Errors
/// A setting that the server does not have, or that takes a restart which is not possible.
pub fn ways<'a>(
    session: &mut Session,
    names: impl IntoIterator<Item = &'a str>,
    restarts: bool,
) -> Result<BTreeMap<String, Way>, Failure> {
    let asking = |e| trouble::server(&e, "could not read the server's settings");
    let rows = admin::rows(session, "SELECT name, context FROM pg_settings").map_err(asking)?;
    let known: BTreeMap<String, String> = rows
        .into_iter()
        .filter_map(|row| {
            let mut row = row.into_iter().flatten();
            Some((row.next()?, row.next()?))
        })
        .collect();
    // Documented: since 15 a role may be granted settings of superusers. Asked where there is such a setting.
    const MAY_SET: &str = "SELECT rolsuper OR current_setting('server_version_num')::int >= 150000 \
                           FROM pg_roles WHERE rolname = current_user";
    let mut is_refused = None;
    let mut ways = BTreeMap::new();
    for name in names {
        let context = known
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        let context = context.map(|(_, context)| context.as_str());
        let is_superusers = matches!(context, Some("superuser" | "superuser-backend"));
        let is_refused = is_superusers
            && *is_refused.get_or_insert_with(|| {
                let may_set = admin::value(session, MAY_SET).ok().flatten();
                may_set.as_deref() == Some("f")
            });
        let way = match context {
            Some("superuser" | "superuser-backend") if is_refused => Way::System,
            Some("user" | "superuser" | "backend" | "superuser-backend") => Way::Session,
            Some("sighup") => Way::System,
            // An extension's, or the user's: the server takes any name with a dot.
            None if name.contains('.') => Way::Session,
            Some("postmaster") if restarts => Way::Restart,
            Some("postmaster") => {
                return Err(Failure::new(format!(
                    "settings.{name} needs a server restart, and no command for it is known"
                ))
                .hint("for a server of your own: restart = \"systemctl restart postgresql\"")
                .hint("or on a private server: without --url, with none kept (pgdyno server stop)")
                .hint("or give servers that differ in it as a list: target = [\"…\", \"…\"]"));
            }
            Some(_) => {
                return Err(Failure::new(format!(
                    "settings.{name} cannot be changed: the server computes it"
                )));
            }
            None => {
                let failure = Failure::new(format!("the server has no setting \"{name}\""));
                return Err(match nearest(name, known.keys().map(String::as_str)) {
                    Some(word) => failure.hint(format!("did you mean \"{word}\"?")),
                    None => failure,
                });
            }
        };
        ways.insert(name.to_owned(), way);
    }
    Ok(ways)
}

/// The settings of one server that are not as they were found.
pub struct Changes {
    target: Target,
    journal: Option<Journal>,
    /// What `postgresql.auto.conf` had, for each setting touched.
    found: BTreeMap<String, Option<String>>,
    in_effect: BTreeMap<String, String>,
    /// Whether the last change ended.
    settled: bool,
    /// What restarts the server, with the settings that need it.
    restart: Option<(Restart, BTreeSet<String>)>,
}

impl Changes {
    /// None yet. `restart` is what restarts the server, with the settings that need it.
    pub fn none(target: &Target, restart: Option<(Restart, BTreeSet<String>)>) -> Changes {
        Changes {
            target: target.clone(),
            journal: None,
            found: BTreeMap::new(),
            in_effect: BTreeMap::new(),
            settled: true,
            restart,
        }
    }

    /// Makes exactly `wanted` be in effect beside what was found. Journals go to `directory`.
    ///
    /// # Errors
    /// The role may not, or the server does not take a value. What was changed until then is still
    /// known and can be put back.
    pub fn switch(
        &mut self,
        session: &mut Session,
        wanted: &BTreeMap<String, String>,
        directory: &Path,
    ) -> Result<(), Failure> {
        if self.settled && *wanted == self.in_effect {
            return Ok(());
        }
        self.settled = false;
        let mut touched = BTreeSet::new();
        for name in wanted.keys() {
            if !self.found.contains_key(name) {
                let before = in_auto_conf(session, name)?;
                self.write_down(session, name, before.as_deref(), directory)?;
                self.found.insert(name.clone(), before);
            }
        }
        self.note_session(session)?;
        let gone = self
            .in_effect
            .keys()
            .filter(|name| !wanted.contains_key(*name));
        for name in gone.cloned().collect::<Vec<_>>() {
            let before = self.found.get(&name).cloned().flatten();
            alter(session, &name, before.as_deref())?;
            self.in_effect.remove(&name);
            touched.insert(name);
        }
        for (name, value) in wanted {
            if self.in_effect.get(name) != Some(value) {
                alter(session, name, Some(value))?;
                self.in_effect.insert(name.clone(), value.clone());
                touched.insert(name.clone());
            }
        }
        match self.restarting(&touched) {
            Some(how) => *session = restart(session, &self.target, how)?,
            None => reload(session)?,
        }
        for name in wanted.keys() {
            check_effect(session, name)?;
        }
        self.settled = true;
        Ok(())
    }

    /// What puts these settings into effect, where one of them needs a restart.
    fn restarting(&self, touched: &BTreeSet<String>) -> Option<&Restart> {
        let (how, needing) = self.restart.as_ref()?;
        (!needing.is_disjoint(touched)).then_some(how)
    }

    /// Nothing changes before it can be put back after a crash. A server that ends with this
    /// process takes its settings with it.
    fn write_down(
        &mut self,
        session: &mut Session,
        name: &str,
        before: Option<&str>,
        directory: &Path,
    ) -> Result<(), Failure> {
        if self.target.kind == TargetKind::Own {
            return Ok(());
        }
        if self.journal.is_none() {
            let header = Header {
                target: self.target.administration_address().to_owned(),
                title: self.target.title.clone(),
                system_identifier: system_identifier(session),
            };
            self.journal = Some(Journal::create(directory, &header)?);
        }
        match &mut self.journal {
            Some(journal) => journal.note(name, before),
            None => Ok(()),
        }
    }

    /// What this session has sent is still executed when pgdyno is killed.
    fn note_session(&mut self, session: &mut Session) -> Result<(), Failure> {
        let Some(journal) = &mut self.journal else {
            return Ok(());
        };
        let own = format!("SELECT {SESSION} FROM pg_stat_activity WHERE pid = pg_backend_pid()");
        match admin::value(session, &own).ok().flatten() {
            Some(own) => journal.note_session(&own),
            // Not every server tells.
            None => Ok(()),
        }
    }

    /// Puts everything back.
    ///
    /// # Errors
    /// The server cannot be reached or refuses: the journal stays for `pgdyno restore`.
    pub fn restore(&mut self) -> Result<(), Failure> {
        if self.found.is_empty() {
            return Ok(());
        }
        let hint = "to restore the rest: pgdyno restore";
        let mut session = match self.target.administer() {
            Ok(session) => session,
            // A private server that has ended has taken its settings with it.
            Err(_) if self.target.kind == TargetKind::Own => return Ok(()),
            Err(failure) => return Err(failure.hint(hint)),
        };
        // Often the server is given up just then.
        session.set_answer_timeout(Some(RELOAD_TIMEOUT));
        self.note_session(&mut session)?;
        put_back(&mut session, &self.found).map_err(|e| e.hint(hint))?;
        let touched = self.found.keys().cloned().collect();
        if let Some(how) = self.restarting(&touched) {
            restart(&mut session, &self.target, how)?.close();
        }
        self.found.clear();
        self.in_effect.clear();
        match self.journal.take() {
            Some(journal) => journal.remove(),
            None => Ok(()),
        }
    }
}

/// Sets each setting to what it was in `postgresql.auto.conf`, or takes it out.
pub(super) fn put_back(
    session: &mut Session,
    found: &BTreeMap<String, Option<String>>,
) -> Result<(), Failure> {
    for (name, before) in found {
        alter(session, name, before.as_deref())?;
    }
    reload(session)
}

/// What tells this server from all others; roles that may not see it get none.
pub(super) fn system_identifier(session: &mut Session) -> Option<String> {
    let sql = "SELECT system_identifier FROM pg_control_system()";
    admin::value(session, sql).ok().flatten()
}

fn in_auto_conf(session: &mut Session, name: &str) -> Result<Option<String>, Failure> {
    let sql = format!(
        "SELECT setting FROM pg_file_settings WHERE lower(name) = lower({}) \
         AND sourcefile LIKE '%postgresql.auto.conf' ORDER BY seqno DESC LIMIT 1",
        quote_literal(name)
    );
    admin::value(session, &sql).map_err(|e| {
        trouble::server(
            &e,
            &format!("settings.{name} is a server setting, and its old value could not be read"),
        )
        .hint("connect as a superuser, or leave it out")
    })
}

fn alter(session: &mut Session, name: &str, value: Option<&str>) -> Result<(), Failure> {
    let quoted: Vec<String> = name.split('.').map(quote_ident).collect();
    let quoted = quoted.join(".");
    let sql = match value {
        Some(value) => format!("ALTER SYSTEM SET {quoted} = {}", quote_literal(value)),
        None => format!("ALTER SYSTEM RESET {quoted}"),
    };
    admin::run(session, &sql)
        .map_err(|e| trouble::server(&e, &format!("could not change settings.{name}")))
}

/// Has the server read its files again, and waits until this session has too: the postmaster, from
/// which new sessions get theirs, comes before it.
fn reload(session: &mut Session) -> Result<(), Failure> {
    let failed = |e| trouble::server(&e, "could not have the server read its settings again");
    let loaded = "SELECT extract(epoch FROM pg_conf_load_time())";
    let before = admin::value(session, loaded).map_err(failed)?;
    admin::run(session, "SELECT pg_reload_conf()").map_err(failed)?;
    let began = Instant::now();
    while admin::value(session, loaded).map_err(failed)? == before {
        if began.elapsed() > RELOAD_TIMEOUT {
            return Err(Failure::new(format!(
                "the server has not read its settings again within {} s",
                RELOAD_TIMEOUT.as_secs()
            )));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// A setting can be decided elsewhere: on the command line, for a role or a database.
fn check_effect(session: &mut Session, name: &str) -> Result<(), Failure> {
    let sql = format!(
        "SELECT source FROM pg_settings WHERE lower(name) = lower({})",
        quote_literal(name)
    );
    let source = admin::value(session, &sql)
        .map_err(|e| trouble::server(&e, "could not check whether a setting is in effect"))?;
    match source.as_deref() {
        Some("configuration file") | None => Ok(()),
        Some(other) => Err(Failure::new(format!(
            "settings.{name} was set, but is not in effect: it is decided by the {other}"
        ))),
    }
}
