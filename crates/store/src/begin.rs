//! Putting a trial into the store, before it begins.

use pgdyno_measurement::{ScriptRecord, StatementRecord};
use pgdyno_model::notebook::{ExperimentHeader, ExperimentRow, TrialHeader};
use pgdyno_model::stamp::stamp;
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::db::{self, Db, Error, Sql, Value, params};
use pgdyno_platform::process::Identity;
use serde_json::json;
use uuid::Uuid;

use super::packed::whole;
use super::{Place, Store, TrialWriter, units};
use crate::courier::Courier;
use pgdyno_model::document::{Facts, Host, TargetKind};
use pgdyno_model::pooler;
use pgdyno_spec::{Failure, TrialSpec};

/// A second is written after the one before it, so that few pages are needed again: SQLite's own 2 MiB
/// would fill for minutes, and look like memory that grows.
const CACHE_KIB: u32 = 256;

/// So long the journal gets, in pages of 4 kB, before it is folded into the file and begun again: some three
/// minutes, so that a sync is rare and a long trial's journal short.
pub(super) const JOURNAL_PAGES: u32 = 1500;
/// How often a server that is away is tried before a trial.
const AWAY_PAUSE: Duration = Duration::from_secs(1);

impl Store {
    /// Puts an experiment into the store.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn begin_experiment(&self, header: &ExperimentHeader) -> Result<ExperimentRow, Failure> {
        self.check_version()?;
        let uuid = Uuid::new_v4().to_string();
        let written = self.db.execute(
            "INSERT INTO experiment (uuid, name, created, definition, host) VALUES (?, ?, ?, ?, ?)",
            params![
                uuid,
                header.name,
                stamp(SystemTime::now()),
                header.definition,
                json!(Host::read()).to_string()
            ],
        );
        written.map_err(self.failed("cannot write to"))?;
        self.experiment(&uuid)
    }

    /// Puts a trial into the store, and gives what writes its seconds. Nothing is synced to disk
    /// from here on until its end, but where the journal has become long.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn begin(&self, header: &TrialHeader) -> Result<TrialWriter, Failure> {
        for tag in &header.tags {
            pgdyno_model::notebook::check_tag(tag)?;
        }
        self.check_version()?;
        let mut columns = columns(header, &Uuid::new_v4().to_string());
        // A connection of its own: it works on a thread of its own.
        let (own, courier) = match &self.place {
            Place::File(path) => (Self::existing(path)?, None),
            Place::Server(remote) => {
                let own = Self::waiting(&remote.waiting)?;
                let number = self.number_for(&shared_columns(header, &columns), remote.wait)?;
                columns.push(("number", Value::Integer(number)));
                (own, Some(Courier::of(self, number)?))
            }
        };
        // NORMAL: only what is folded from the journal into the file is synced.
        let pragmas = format!(
            "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = {JOURNAL_PAGES}; \
             PRAGMA cache_size = -{CACHE_KIB};"
        );
        let set = own.db.execute_batch(&pragmas);
        set.map_err(own.failed("cannot write to"))?;
        let begin = own.db.transaction(|db| insert(db, header, &columns));
        let number = begin.map_err(own.failed("cannot write to"))?;
        TrialWriter::start(own, number, courier)
    }

    /// The number of a new trial on a server, which has it from now on. One that is away for a moment
    /// is waited for: nothing is measured yet.
    fn number_for(
        &self,
        columns: &[(&'static str, Value)],
        limit: Duration,
    ) -> Result<i64, Failure> {
        let began = Instant::now();
        loop {
            match self.db.transaction(|db| insert_begun(db, columns)) {
                Err(Error::Server(e)) if is_away(&e) && began.elapsed() < limit => {
                    thread::sleep(AWAY_PAUSE);
                }
                inserted => return inserted.map_err(self.failed("cannot write to")),
            }
        }
    }
}

/// Whether it may be back in a moment. What a statement may not do, it may not do then either.
fn is_away(error: &pgdyno_session::Error) -> bool {
    let class = |state: &str| state.starts_with("42") || state.starts_with("25");
    // PgBouncer's, which ends the session with it.
    !error.sqlstate().is_some_and(class) && !error.to_string().contains(pooler::STATEMENT_MODE)
}

/// Puts a trial there as one that runs; gives its number.
pub(super) fn insert(
    transaction: &Db,
    header: &TrialHeader,
    columns: &[(&'static str, Value)],
) -> db::Result<i64> {
    let number = insert_begun(transaction, columns)?;
    for (index, script) in header.scripts.iter().enumerate() {
        transaction.execute(
            "INSERT INTO script VALUES (?, ?, ?, ?)",
            params![number, index, script.name, whole(script.weight)],
        )?;
        for (command, statement) in script.statements.iter().enumerate() {
            transaction.execute(
                "INSERT INTO command VALUES (?, ?, ?, ?, ?)",
                params![number, index, command, statement.text, statement.is_sql],
            )?;
        }
    }
    units::begin(transaction, number, &header.operations)?;
    for tag in &header.tags {
        transaction.execute(
            "INSERT INTO tag VALUES (?, ?) ON CONFLICT DO NOTHING",
            params![tag, number],
        )?;
    }
    Ok(number)
}

/// The row itself; it is no second one when it is there already.
fn insert_begun(db: &Db, columns: &[(&'static str, Value)]) -> db::Result<i64> {
    let (names, values): (Vec<&str>, Vec<Value>) = columns.iter().cloned().unzip();
    let places = vec!["?"; names.len()].join(", ");
    let names = names.join(", ");
    let sql = format!(
        "INSERT INTO trial_begun ({names}) VALUES ({places}) ON CONFLICT (uuid) DO NOTHING"
    );
    db.execute(&sql, values)?;
    let uuid = columns.iter().find(|(name, _)| *name == "uuid");
    let uuid = uuid.map(|(_, value)| value);
    db.query_row(
        "SELECT number FROM trial_begun WHERE uuid = ?",
        [uuid],
        |row| row.get(0),
    )
}

/// What is known of a trial before it begins.
pub(super) fn columns(header: &TrialHeader, uuid: &str) -> Vec<(&'static str, Value)> {
    let process = Identity::of_self();
    vec![
        ("uuid", text(uuid)),
        ("created", text(stamp(SystemTime::now()))),
        ("experiment", optional(header.experiment)),
        ("position", optional(header.position)),
        (
            "point",
            optional(header.point.as_ref().map(|p| p.to_string())),
        ),
        ("repeat", optional(header.repeat)),
        ("note", optional(header.note.clone())),
        ("ran_by", optional(ran_by())),
        ("workload", text(&header.workload)),
        ("pack_sha256", optional(header.pack_sha256.clone())),
        ("target", text(&header.target)),
        ("target_kind", text(kind(header.target_kind))),
        (
            "server_version",
            optional(header.facts.server_version.known().cloned()),
        ),
        (
            "isolation_in_effect",
            optional(header.facts.isolation.known().cloned()),
        ),
        ("pgdyno", text(env!("CARGO_PKG_VERSION"))),
        ("command", text(&header.command)),
        ("spec", text(json!(header.spec).to_string())),
        ("load_sha256", text(header.spec.load_sha256())),
        ("pid", Value::Integer(process.pid.into())),
        (
            "pid_started",
            process.started_ticks.map_or(Value::Null, whole),
        ),
        ("pid_namespace", optional(process.pid_namespace)),
        ("boot_id", optional(process.boot_id)),
        ("host_name", optional(process.host)),
        ("variables", text(json!(header.variables).to_string())),
        ("host", text(json!(header.host).to_string())),
        ("notes", text(json!(header.notes).to_string())),
        ("facts", text(json!(header.facts).to_string())),
    ]
}

/// What a server gets: without the host's name if the user does not want to be known. The file
/// in which rows wait has it, to find out there whose process is gone.
fn shared_columns(
    header: &TrialHeader,
    columns: &[(&'static str, Value)],
) -> Vec<(&'static str, Value)> {
    let mut reported = columns.to_vec();
    if ran_by().is_some() {
        return reported;
    }
    let host = Host {
        name: None,
        ..header.host.clone()
    };
    for (name, value) in &mut reported {
        match *name {
            "host_name" => *value = Value::Null,
            "host" => *value = text(json!(host).to_string()),
            _ => {}
        }
    }
    reported
}

/// The user of the operating system, or what `PGDYNO_RAN_BY` says instead; unnamed when it is empty.
fn ran_by() -> Option<String> {
    let env = pgdyno_session::Env::of_process();
    let said = env.var("PGDYNO_RAN_BY").or(env.os_user());
    said.filter(|name| !name.is_empty()).map(str::to_owned)
}

/// As `kind` has it in the JSON document.
fn kind(kind: TargetKind) -> &'static str {
    match kind {
        TargetKind::Named => "named",
        TargetKind::Kept => "kept",
        TargetKind::Own => "own",
    }
}

fn text(text: impl Into<String>) -> Value {
    Value::Text(text.into())
}

fn optional(value: Option<impl Sql>) -> Value {
    value.value()
}

/// A trial of one script, about whose server nothing is known: for tests of those who keep trials.
pub fn example() -> TrialHeader {
    let statement = StatementRecord {
        text: "SELECT 1;".to_owned(),
        is_sql: true,
    };
    TrialHeader {
        experiment: None,
        point: None,
        repeat: None,
        position: None,
        tags: Vec::new(),
        note: None,
        workload: "one".to_owned(),
        pack_sha256: None,
        variables: BTreeMap::new(),
        target: "a server".to_owned(),
        target_kind: TargetKind::Named,
        facts: Facts::unknown("not asked in this test"),
        host: Host::read(),
        notes: Vec::new(),
        command: "pgdyno run one".to_owned(),
        spec: TrialSpec::of("one").resolved(),
        operations: vec!["select".to_owned()],
        scripts: vec![ScriptRecord {
            name: "one".to_owned(),
            weight: 1,
            statements: vec![statement],
        }],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use pgdyno_model::State;

    #[test]
    fn a_trial_has_its_place_in_its_experiment() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("s")).unwrap();
        let sweep = ExperimentHeader {
            name: "disks".to_owned(),
            definition: "clients = [1, 2]".to_owned(),
        };
        let experiment = store.begin_experiment(&sweep).unwrap().number;
        let header = TrialHeader {
            experiment: Some(experiment),
            point: Some(json!({"clients": 2})),
            repeat: Some(3),
            position: Some(7),
            tags: vec!["new".to_owned()],
            note: Some("cold".to_owned()),
            ..example()
        };
        let writer = store.begin(&header).unwrap();
        let trial = store.trial(&writer.number().to_string()).unwrap();
        assert_eq!(trial.experiment_name.as_deref(), Some("disks"));
        assert_eq!(trial.point, Some(json!({"clients": 2})));
        assert_eq!((trial.repeat, trial.position), (Some(3), Some(7)));
        assert_eq!(
            (trial.state, trial.note.as_deref()),
            (State::Running, Some("cold"))
        );
        assert_eq!(trial.tags, ["new"]);
        let of = |called: &str| store.experiment(called).map(|found| found.definition);
        assert_eq!(of("disks").unwrap(), "clients = [1, 2]");
        let e = of("tapes").unwrap_err().to_string();
        assert!(e.contains("there is no experiment tapes"), "{e}");
    }

    #[test]
    fn a_trial_with_a_tag_that_is_none_is_not_begun() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("s")).unwrap();
        let header = TrialHeader {
            tags: vec!["two words".to_owned()],
            ..example()
        };
        assert!(store.begin(&header).is_err());
        assert!(
            store
                .trials(&pgdyno_model::notebook::Filter::default())
                .unwrap()
                .is_empty()
        );
    }
}
