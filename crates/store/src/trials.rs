//! Lists of trials, and finding one by what a person calls it.

use pgdyno_model::notebook::{ExperimentRow, Filter, Latency, ListedTrial, PlacedTrial, TrialRow};

use super::Store;
use super::columns::{Column, Columns, columns};
use crate::db::{self, Row, Value, params};
use pgdyno_model::State;
use pgdyno_spec::{Exit, Failure};

/// Its columns have its field's name before theirs.
impl Column for Latency {
    fn names(field: &str) -> Vec<String> {
        let names = ["mean", "p50", "p90", "p95", "p99", "p99_9", "max"];
        names.map(|name| format!("{field}_{name}_us")).into()
    }

    fn read(row: &Row<'_>, next: &mut usize) -> db::Result<Self> {
        Ok(Self {
            mean_us: Column::read(row, next)?,
            p50_us: Column::read(row, next)?,
            p90_us: Column::read(row, next)?,
            p95_us: Column::read(row, next)?,
            p99_us: Column::read(row, next)?,
            p99_9_us: Column::read(row, next)?,
            max_us: Column::read(row, next)?,
        })
    }
}

columns! { ExperimentRow:
    number,
    uuid,
    name,
    created,
    definition,
}

columns! { TrialRow:
    number,
    uuid,
    state,
    reason,
    started,
    ended,
    experiment,
    experiment_name = "(SELECT name FROM experiment e WHERE e.number = t.experiment)",
    position,
    point,
    repeat,
    excluded,
    note = "substr(t.note, 1, 65536)",
    tags = "(SELECT string_agg(tag, ' ' ORDER BY tag) FROM tag WHERE tag.trial = t.number)",
    workload,
    pack_sha256,
    target,
    server_version,
    isolation_in_effect,
    pgdyno,
    command,
    spec,
    load_sha256,
    elapsed_us,
    committed,
    failed,
    skipped,
    unknown,
    late,
    retries,
    retried,
    goodput_per_s,
    service,
    response,
    response_p99_low_us,
    response_p99_high_us,
    response_p99_effective,
    client_user_us,
    client_system_us,
}

// A list takes the beginnings of texts, which may come from anywhere.
columns! { ListedTrial:
    number,
    uuid,
    state,
    reason = "substr(t.reason, 1, 4096)",
    started,
    target = "substr(t.target, 1, 4096)",
    note = "substr(t.note, 1, 4096)",
    experiment_name = "(SELECT substr(name, 1, 4096) FROM experiment e WHERE e.number = t.experiment)",
    excluded = "substr(t.excluded, 1, 4096)",
    tags = "(SELECT substr(string_agg(substr(tag, 1, 4096), ' ' ORDER BY tag), 1, 65536) FROM tag \
            WHERE tag.trial = t.number)",
    workload = "substr(t.workload, 1, 4096)",
    clients,
    failed,
    goodput_per_s,
    service_p50_us,
    service_p99_us,
    response_p50_us,
    response_p99_us,
}

columns! { PlacedTrial:
    number,
    state,
    excluded,
    point,
    repeat,
}

/// What one generator measured is not shown beside what all of them did.
const IS_NO_PART: &str = "NOT EXISTS (SELECT 1 FROM part JOIN part whole \
     ON whole.meeting = part.meeting AND whole.generator = -1 \
     WHERE part.trial = number AND part.generator >= 0)";

/// Trials that have not ended, whatever the parameter.
const IS_RUNNING: &str = "number IN (SELECT b.number FROM trial_begun b WHERE NOT EXISTS \
     (SELECT 1 FROM trial_ended e WHERE e.trial = b.number)) AND ? = 1";

/// The condition that a word is in the texts by which a person knows a trial, and its parameters.
fn matches_word(word: &str) -> (String, Vec<Value>) {
    let lower = word.to_lowercase();
    // What LIKE takes for a pattern is meant as it is.
    let escaped: String = lower
        .chars()
        .flat_map(|c| match c {
            '%' | '_' | '!' => vec!['!', c],
            c => vec![c],
        })
        .collect();
    let pattern = Value::Text(format!("%{escaped}%"));
    let like = |what: &str| format!("lower({what}) LIKE ? ESCAPE '!'");
    let places = [
        like("workload"),
        like("target"),
        like("note"),
        format!("number IN (SELECT trial FROM tag WHERE {})", like("tag")),
        format!(
            "experiment IN (SELECT number FROM experiment WHERE {})",
            like("name")
        ),
        "uuid LIKE ? ESCAPE '!'".to_owned(),
        "number = ?".to_owned(),
    ];
    let mut values = vec![pattern; 5];
    // As everywhere: four characters of a UUID are enough to mean it.
    let prefix = if lower.len() >= 4 {
        format!("{escaped}%")
    } else {
        escaped
    };
    values.push(Value::Text(prefix));
    values.push(Value::Integer(word.parse().unwrap_or(-1)));
    (format!("({})", places.join(" OR ")), values)
}

impl Store {
    /// What a list shows of the newest trials, in the order of [`Store::trials`].
    ///
    /// # Errors
    /// As [`Store::trials`].
    pub fn listed(&self, filter: &Filter) -> Result<Vec<ListedTrial>, Failure> {
        self.newest(filter)
    }

    /// The newest trials first.
    ///
    /// # Errors
    /// The store cannot be read; an experiment that it does not have.
    pub fn trials(&self, filter: &Filter) -> Result<Vec<TrialRow>, Failure> {
        self.newest(filter)
    }

    fn newest<R: Columns>(&self, filter: &Filter) -> Result<Vec<R>, Failure> {
        let (conditions, values) = self.conditions(filter)?;
        let limit = match filter.skip {
            0 => limit(filter.limit),
            skip => format!(
                "{} OFFSET {skip}",
                limit(filter.limit.or(Some(i64::MAX as u64)))
            ),
        };
        // By the column that has an index.
        self.rows(
            &format!("{conditions} ORDER BY created DESC, number DESC{limit}"),
            values,
        )
    }

    /// How many there are without the limit.
    ///
    /// # Errors
    /// As [`Store::trials`].
    pub fn count(&self, filter: &Filter) -> Result<u64, Failure> {
        self.counted(filter, "")
    }

    /// The same, but no more than `max`: there may be a million.
    ///
    /// # Errors
    /// As [`Store::trials`].
    pub fn count_up_to(&self, filter: &Filter, max: u64) -> Result<u64, Failure> {
        self.counted(filter, &limit(Some(max)))
    }

    fn counted(&self, filter: &Filter, limit: &str) -> Result<u64, Failure> {
        let (conditions, values) = self.conditions(filter)?;
        let sql =
            format!("SELECT count(*) FROM (SELECT 1 FROM trial t {conditions}{limit}) counted");
        self.db
            .query_row(&sql, values, |row| row.get(0))
            .map_err(self.failed("cannot read"))
    }

    /// How many experiments there are.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn count_experiments(&self) -> Result<u64, Failure> {
        self.db
            .query_row("SELECT count(*) FROM experiment", [0; 0], |row| row.get(0))
            .map_err(self.failed("cannot read"))
    }

    /// The trials of an experiment, in their order.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn placed(&self, experiment: i64) -> Result<Vec<PlacedTrial>, Failure> {
        self.rows(
            &format!("WHERE experiment = ? AND {IS_NO_PART} ORDER BY position, number"),
            vec![Value::Integer(experiment)],
        )
    }

    /// The trial with this number, or whose UUID begins so.
    ///
    /// # Errors
    /// There is none, or there are several.
    pub fn trial(&self, called: &str) -> Result<TrialRow, Failure> {
        let number = self.trial_number(called)?;
        let mut rows = self.rows("WHERE number = ?", vec![Value::Integer(number)])?;
        rows.pop().ok_or_else(|| self.no_trial(called))
    }

    /// Whether a process of a host with this one's name ran the trial. Not where that is not kept.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn ran_here(&self, number: i64) -> Result<bool, Failure> {
        let sql = "SELECT host_name FROM trial_begun WHERE number = ?";
        let ran_at = self
            .db
            .query_row(sql, [number], |row| row.get::<Option<String>>(0))
            .map_err(self.failed("cannot read"))?;
        Ok(ran_at.is_some() && ran_at == pgdyno_platform::host::name())
    }

    /// The number of the trial with this number, or whose UUID begins so.
    ///
    /// # Errors
    /// There is none, or there are several.
    pub fn trial_number(&self, called: &str) -> Result<i64, Failure> {
        let found = self.called("trial_begun", called)?;
        match found[..] {
            [number] => Ok(number),
            [] => Err(self.no_trial(called)),
            _ => Err(ambiguous("trials", called, found.len())),
        }
    }

    fn no_trial(&self, called: &str) -> Failure {
        let text = format!("there is no trial {called} in {}", self.place());
        let failure = Failure::with(Exit::Usage, text);
        if ["last", "latest", "newest"].contains(&called) {
            return failure
                .hint("the newest is meant where none is named: pgdyno show, pgdyno report");
        }
        let failure = with_meant_range(failure, called);
        failure.hint(
            "trials are named by number or by the first characters of their UUID, four or \
                   more: pgdyno ls",
        )
    }

    /// The experiment with this name (the newest of several), or whose UUID begins so.
    ///
    /// # Errors
    /// There is none, or several UUIDs begin so.
    pub fn experiment(&self, called: &str) -> Result<ExperimentRow, Failure> {
        let found = self.experiment_number(called)?.ok_or_else(|| {
            let text = format!("there is no experiment {called} in {}", self.place());
            with_meant_range(Failure::with(Exit::Usage, text), called)
                .hint("pgdyno ls --experiments lists experiments")
        })?;
        let sql = format!(
            "SELECT {} FROM experiment WHERE number = ?",
            ExperimentRow::columns()
        );
        let row = self.db.query_row(&sql, [found], ExperimentRow::read);
        row.map_err(self.failed("cannot read"))
    }

    /// The experiments with this name, the newest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn experiments_named(&self, name: &str) -> Result<Vec<ExperimentRow>, Failure> {
        let read = || {
            let columns = ExperimentRow::columns();
            let sql =
                format!("SELECT {columns} FROM experiment WHERE name = ? ORDER BY number DESC");
            self.db.prepare(&sql).query_map([name], ExperimentRow::read)
        };
        let rows: db::Result<Vec<ExperimentRow>> = read();
        rows.map_err(self.failed("cannot read"))
    }

    /// The newest experiments first, each with its trials and how many of them are complete and not
    /// excluded.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn experiments(
        &self,
        limit: Option<u64>,
    ) -> Result<Vec<(ExperimentRow, u64, u64)>, Failure> {
        let limit = self::limit(limit);
        let read = || {
            let columns = ExperimentRow::columns();
            let sql = format!(
                "SELECT {columns}, \
                 (SELECT count(*) FROM trial t WHERE t.experiment = e.number), \
                 (SELECT count(*) FROM trial t WHERE t.experiment = e.number \
                  AND state = 'complete' AND excluded IS NULL) \
                 FROM experiment e ORDER BY number DESC{limit}"
            );
            let row = |row: &Row<'_>| Ok((ExperimentRow::read(row)?, row.get(5)?, row.get(6)?));
            self.db.prepare(&sql).query_map([0; 0], row)
        };
        let rows: db::Result<Vec<_>> = read();
        rows.map_err(self.failed("cannot read"))
    }

    /// The experiment's number, `None` when there is none.
    pub(super) fn experiment_number(&self, called: &str) -> Result<Option<i64>, Failure> {
        let sql = "SELECT max(number) FROM experiment WHERE name = ?";
        let named: Option<i64> = self
            .db
            .query_row(sql, [called], |row| row.get(0))
            .map_err(self.failed("cannot read"))?;
        if named.is_some() {
            return Ok(named);
        }
        let found = self.called("experiment", called)?;
        match found[..] {
            [number] => Ok(Some(number)),
            [] => Ok(None),
            _ => Err(ambiguous("experiments", called, found.len())),
        }
    }

    /// The numbers that are meant: the number itself, else those whose UUID begins so.
    fn called(&self, table: &str, called: &str) -> Result<Vec<i64>, Failure> {
        let number: i64 = called.parse().unwrap_or(-1);
        let prefix = called.to_ascii_lowercase();
        // A number that does not exist must not hit upon something else: `rm 9`.
        let is_number = prefix.chars().all(|c| c.is_ascii_digit());
        let length_min = if is_number { 8 } else { 4 };
        let is_prefix =
            prefix.len() >= length_min && prefix.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
        // The character after the digits and letters bounds the range, which the index serves.
        let sql = format!(
            "SELECT number FROM {table} WHERE number = ?1 \
             UNION ALL SELECT number FROM {table} WHERE ?4 AND uuid >= ?2 AND uuid < ?3 \
             AND NOT EXISTS (SELECT 1 FROM {table} WHERE number = ?1)"
        );
        let read = || {
            let after = format!("{prefix}g");
            let params = params![number, prefix, after, is_prefix];
            self.db.prepare(&sql).query_map(params, |row| row.get(0))
        };
        let numbers: db::Result<Vec<i64>> = read();
        numbers.map_err(self.failed("cannot read"))
    }

    fn conditions(&self, filter: &Filter) -> Result<(String, Vec<Value>), Failure> {
        let (mut conditions, mut values) = (Vec::new(), Vec::new());
        let mut add = |condition: &str, value: Value| {
            conditions.push(condition.to_owned());
            values.push(value);
        };
        if let Some(called) = &filter.experiment {
            let number = self.experiment(called)?.number;
            add("experiment = ?", Value::Integer(number));
        }
        if let Some(workload) = &filter.workload {
            add("workload = ?", Value::Text(workload.clone()));
        }
        for tag in &filter.tags {
            let condition = "number IN (SELECT trial FROM tag WHERE tag = ?)";
            add(condition, Value::Text(tag.clone()));
        }
        if let Some(state) = filter.state {
            match state {
                // Without reading what is wide: there may be a hundred thousand others.
                State::Running => add(IS_RUNNING, Value::Integer(1)),
                _ => add("state = ?", Value::Text(state.name().to_owned())),
            }
        }
        if let Some(since) = &filter.since {
            add("created >= ?", Value::Text(since.clone()));
        }
        for word in &filter.words {
            let (condition, of_word) = matches_word(word);
            conditions.push(condition);
            values.extend(of_word);
        }
        conditions.push(IS_NO_PART.to_owned());
        Ok((format!("WHERE {}", conditions.join(" AND ")), values))
    }

    fn rows<R: Columns>(&self, rest: &str, values: Vec<Value>) -> Result<Vec<R>, Failure> {
        let sql = format!("SELECT {} FROM trial t {rest}", R::columns());
        let read = || self.db.prepare(&sql).query_map(values, R::read);
        let rows: db::Result<Vec<R>> = read();
        rows.map_err(self.failed("cannot read"))
    }
}

fn limit(limit: Option<u64>) -> String {
    limit.map_or(String::new(), |limit| format!(" LIMIT {limit}"))
}

/// Numbers that other programs would take as a range.
fn with_meant_range(failure: Failure, called: &str) -> Failure {
    let separators = ["..=", "..", "…", "–", "—", ":"].into_iter();
    let mut pairs = separators.filter_map(|separator| called.split_once(separator));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match pairs.find(|(first, last)| is_number(first) && is_number(last)) {
        Some((first, last)) => failure.hint(format!(
            "several trials are {first}-{last}, for compare and report"
        )),
        None => failure,
    }
}

fn ambiguous(what: &str, called: &str, count: usize) -> Failure {
    let text = format!("{count} {what} have a UUID that begins with {called}");
    Failure::with(Exit::Usage, text).hint("give more of it, or the number: pgdyno ls")
}
