-- The notebook's tables. Described for users in docs/store.md. They are written as SQLite has them, a
-- column a line; schema/ddl.rs makes those of PostgreSQL of them.
-- Rows are added and never changed, but for what people say of a trial (tags, notes, exclusions) and the
-- process that ran it.
-- Times are UTC as text (2026-01-31T12:00:00.000000Z); latencies are whole microseconds.
-- The histograms are HdrHistogram's V2 encoding. Sums of squares exceed 64 bits: decimal text.

CREATE TABLE experiment (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid        TEXT NOT NULL UNIQUE,
    name        TEXT NOT NULL,
    created     TEXT NOT NULL,
    definition  TEXT NOT NULL,
    host        TEXT NOT NULL
);
CREATE INDEX experiment_name ON experiment (name);

-- What is known of a trial before it begins. AUTOINCREMENT: the number of a trial that was removed
-- never names another.
CREATE TABLE trial_begun (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid        TEXT NOT NULL UNIQUE,
    created     TEXT NOT NULL,
    -- Where it stands in an experiment.
    experiment  INTEGER REFERENCES experiment (number),
    position    INTEGER,
    point       TEXT,
    repeat      INTEGER,
    -- What people say of it.
    excluded    TEXT,
    note        TEXT,
    -- Who ran it, if they allow it.
    ran_by      TEXT,
    -- What was run.
    workload    TEXT NOT NULL,
    pack_sha256 TEXT,
    target      TEXT NOT NULL,
    target_kind TEXT NOT NULL,
    server_version TEXT,
    -- At which transactions really run, whatever was asked for.
    isolation_in_effect TEXT,
    pgdyno      TEXT NOT NULL,
    command     TEXT NOT NULL,
    -- The trial as it was asked for, with nothing left open and without secrets: JSON. What people look
    -- for stands in columns of its own, made of it.
    spec        TEXT NOT NULL,
    -- What tells its load from others: the same for trials of one load on any server.
    load_sha256 TEXT NOT NULL,
    mix         TEXT AS (spec ->> 'mix'),
    clients     INTEGER AS (spec ->> 'clients'),
    threads     INTEGER AS (spec ->> 'threads'),
    query_mode  TEXT AS (spec ->> 'query_mode'),
    isolation   TEXT AS (spec ->> 'isolation'),
    duration_s  REAL AS (spec ->> 'duration_s'),
    transactions_per_client INTEGER AS (spec ->> 'transactions_per_client'),
    warmup_s    REAL AS (spec ->> 'warmup_s'),
    rate_per_s  REAL AS (spec ->> 'rate_per_s'),
    latency_limit_us INTEGER AS (spec ->> 'latency_limit_us'),
    retry       TEXT AS (spec ->> 'retry'),
    max_tries   INTEGER AS (spec ->> 'max_tries'),
    backoff     TEXT AS (spec ->> 'backoff'),
    retry_deadline_us INTEGER AS (spec ->> 'retry_deadline_us'),
    continue_on_error BOOLEAN AS (spec ->> 'continue_on_error'),
    connection_per_transaction BOOLEAN AS (spec ->> 'connection_per_transaction'),
    reconnect   BOOLEAN AS (spec ->> 'reconnect'),
    seed        INTEGER AS (spec ->> 'seed'),
    observe     TEXT AS (spec -> 'observe' ->> 'instruments'),
    -- The process that runs it, to find out whether it has died; in a file NULL when it has ended.
    pid         INTEGER,
    pid_started INTEGER,
    pid_namespace TEXT,
    boot_id     TEXT,
    host_name   TEXT,
    -- JSON. Last: what precedes is read without them.
    variables   TEXT NOT NULL,
    host        TEXT NOT NULL,
    notes       TEXT NOT NULL,
    facts       TEXT NOT NULL
);
CREATE INDEX trial_workload ON trial_begun (workload);
CREATE INDEX trial_created ON trial_begun (created);
CREATE INDEX trial_experiment ON trial_begun (experiment, position);
-- Whoever opens a file looks for those that run, however many have ended.
-- on: sqlite
CREATE INDEX trial_runs ON trial_begun (pid) WHERE pid IS NOT NULL;
-- on: all

-- What came of it. A trial without it runs, or its pgdyno died.
CREATE TABLE trial_ended (
    trial       INTEGER PRIMARY KEY REFERENCES trial_begun (number) ON DELETE CASCADE,
    state       TEXT NOT NULL CHECK (state IN ('complete', 'partial', 'failed', 'aborted')),
    reason      TEXT,
    -- When clients began to work.
    started     TEXT NOT NULL,
    ended       TEXT NOT NULL,
    -- What it came to, warm-up left out.
    elapsed_us  INTEGER,
    committed   INTEGER,
    failed      INTEGER,
    skipped     INTEGER,
    unknown     INTEGER,
    late        INTEGER,
    retries     INTEGER,
    retried     INTEGER,
    -- What its tries cost.
    given_up    INTEGER,
    cut_off     INTEGER,
    kept_us     INTEGER,
    kept_statements INTEGER,
    lost_tries  INTEGER,
    lost_us     INTEGER,
    lost_statements INTEGER,
    backoff_us  INTEGER,
    server_retries INTEGER,
    goodput_per_s REAL,
    service_mean_us  REAL,
    service_p50_us   INTEGER,
    service_p90_us   INTEGER,
    service_p95_us   INTEGER,
    service_p99_us   INTEGER,
    service_p99_9_us INTEGER,
    service_max_us   INTEGER,
    response_mean_us  REAL,
    response_p50_us   INTEGER,
    response_p90_us   INTEGER,
    response_p95_us   INTEGER,
    response_p99_us   INTEGER,
    response_p99_9_us INTEGER,
    response_max_us   INTEGER,
    -- Of the p99, from the seconds: its 95 % interval, and how many independent transactions would
    -- show it as surely.
    response_p99_low_us    INTEGER,
    response_p99_high_us   INTEGER,
    response_p99_effective REAL,
    attempt_mean_us   REAL,
    attempt_p50_us    INTEGER,
    attempt_p90_us    INTEGER,
    attempt_p95_us    INTEGER,
    attempt_p99_us    INTEGER,
    attempt_p99_9_us  INTEGER,
    attempt_max_us    INTEGER,
    client_user_us   INTEGER,
    client_system_us INTEGER,
    clients_aborted  INTEGER,
    clients_disconnected INTEGER,
    -- What all instruments used of the CPU on pgdyno's side.
    observers_cpu_us INTEGER,
    -- JSON, as before.
    notes       TEXT,
    server_counters TEXT,
    -- JSON: what its cluster was like then, where there is more than one node.
    cluster_after TEXT,
    -- JSON: whether the database has what it acknowledged, where transactions left receipts.
    truth       TEXT,
    -- JSON: who measured it, where several pgdynos did.
    generators  TEXT
);
CREATE INDEX trial_ended_state ON trial_ended (state);

CREATE TABLE script (
    trial       INTEGER NOT NULL REFERENCES trial_begun (number) ON DELETE CASCADE,
    script      INTEGER NOT NULL,
    name        TEXT NOT NULL,
    weight      INTEGER NOT NULL,
    PRIMARY KEY (trial, script)
) WITHOUT ROWID;

-- Shorter ones stand where a phase ends; the last of the warm-up and the first behind it may begin
-- in the same microsecond.
CREATE TABLE second (
    trial       INTEGER NOT NULL REFERENCES trial_begun (number) ON DELETE CASCADE,
    start_us    INTEGER NOT NULL,
    warmup      BOOLEAN NOT NULL,
    script      INTEGER NOT NULL,
    length_us   INTEGER NOT NULL,
    committed   INTEGER NOT NULL,
    failed      INTEGER NOT NULL,
    skipped     INTEGER NOT NULL,
    unknown     INTEGER NOT NULL,
    late        INTEGER NOT NULL,
    retries     INTEGER NOT NULL,
    retried     INTEGER NOT NULL,
    service_sum_us INTEGER NOT NULL,
    service_sum_squares_us2 TEXT NOT NULL,
    service_max_us INTEGER NOT NULL,
    service_histogram BLOB NOT NULL,
    response_sum_us INTEGER,
    response_sum_squares_us2 TEXT,
    response_max_us INTEGER,
    response_histogram BLOB,
    lag_sum_us  INTEGER,
    lag_sum_squares_us2 TEXT,
    lag_max_us  INTEGER,
    lag_histogram BLOB,
    -- After the asked duration: transactions end, none begins.
    drain       BOOLEAN NOT NULL,
    PRIMARY KEY (trial, start_us, warmup, script)
);

CREATE TABLE failure (
    trial       INTEGER NOT NULL REFERENCES trial_begun (number) ON DELETE CASCADE,
    start_us    INTEGER NOT NULL,
    warmup      BOOLEAN NOT NULL,
    script      INTEGER NOT NULL,
    class       TEXT NOT NULL,
    transactions INTEGER NOT NULL,
    PRIMARY KEY (trial, start_us, warmup, script, class)
) WITHOUT ROWID;

-- What the tries of a second cost; one row for each of `second`. The times of tries that were
-- committed are there where there may have been several.
CREATE TABLE work (
    trial       INTEGER NOT NULL REFERENCES trial_begun (number) ON DELETE CASCADE,
    start_us    INTEGER NOT NULL,
    warmup      BOOLEAN NOT NULL,
    script      INTEGER NOT NULL,
    given_up    INTEGER NOT NULL,
    cut_off     INTEGER NOT NULL,
    kept_us     INTEGER NOT NULL,
    kept_statements INTEGER NOT NULL,
    lost_tries  INTEGER NOT NULL,
    lost_us     INTEGER NOT NULL,
    lost_statements INTEGER NOT NULL,
    backoff_us  INTEGER NOT NULL,
    server_retries INTEGER NOT NULL,
    attempt_sum_us INTEGER,
    attempt_sum_squares_us2 TEXT,
    attempt_max_us INTEGER,
    attempt_histogram BLOB,
    PRIMARY KEY (trial, start_us, warmup, script)
);

-- Where clients were in a second, in nanoseconds of all clients together; one row a second.
CREATE TABLE client_time (
    trial       INTEGER NOT NULL REFERENCES trial_begun (number) ON DELETE CASCADE,
    start_us    INTEGER NOT NULL,
    warmup      BOOLEAN NOT NULL,
    statement_ns INTEGER NOT NULL,
    think_ns    INTEGER NOT NULL,
    schedule_ns INTEGER NOT NULL,
    connect_ns  INTEGER NOT NULL,
    backoff_ns  INTEGER NOT NULL,
    rest_ns     INTEGER NOT NULL,
    late_ns     INTEGER NOT NULL,
    -- Of the time in statements: from the first bytes of an answer to its last.
    receiving_ns INTEGER NOT NULL,
    round_trips INTEGER NOT NULL,
    received_bytes INTEGER NOT NULL,
    -- Of pgdyno's threads: on a CPU, and waiting for one.
    ran_ns      INTEGER NOT NULL,
    waited_ns   INTEGER NOT NULL,
    -- Of the transactions whose delays in the generator were followed: service times, and what was added.
    followed_ns INTEGER NOT NULL,
    added_ns    INTEGER NOT NULL,
    added_max_ns INTEGER NOT NULL,
    PRIMARY KEY (trial, start_us, warmup)
) WITHOUT ROWID;

-- Latencies of the transactions that were followed: as they were, without the estimate of what the
-- generator added, without the most that it can have added. Written at the end.
CREATE TABLE added (
    trial       INTEGER PRIMARY KEY REFERENCES trial_begun (number) ON DELETE CASCADE,
    shown_sum_us INTEGER NOT NULL,
    shown_sum_squares_us2 TEXT NOT NULL,
    shown_max_us INTEGER NOT NULL,
    shown_histogram BLOB NOT NULL,
    without_sum_us INTEGER NOT NULL,
    without_sum_squares_us2 TEXT NOT NULL,
    without_max_us INTEGER NOT NULL,
    without_histogram BLOB NOT NULL,
    without_most_sum_us INTEGER NOT NULL,
    without_most_sum_squares_us2 TEXT NOT NULL,
    without_most_max_us INTEGER NOT NULL,
    without_most_histogram BLOB NOT NULL
);

-- Work units: what a workload counts when a transaction is not it.
CREATE TABLE operation (
    trial       INTEGER NOT NULL REFERENCES trial_begun (number) ON DELETE CASCADE,
    operation   INTEGER NOT NULL,
    name        TEXT NOT NULL,
    PRIMARY KEY (trial, operation)
) WITHOUT ROWID;

-- Those of a second, by script and operation; only where there were any.
CREATE TABLE unit (
    trial       INTEGER NOT NULL REFERENCES trial_begun (number) ON DELETE CASCADE,
    start_us    INTEGER NOT NULL,
    warmup      BOOLEAN NOT NULL,
    script      INTEGER NOT NULL,
    operation   INTEGER NOT NULL,
    units       INTEGER NOT NULL,
    rows        INTEGER NOT NULL,
    latency_sum_us INTEGER NOT NULL,
    latency_sum_squares_us2 TEXT NOT NULL,
    latency_max_us INTEGER NOT NULL,
    latency_histogram BLOB NOT NULL,
    PRIMARY KEY (trial, start_us, warmup, script, operation)
);

-- Why tries of the measured time failed, with one message of each reason. Written at the end.
CREATE TABLE reason (
    trial       INTEGER NOT NULL REFERENCES trial_begun (number) ON DELETE CASCADE,
    class       TEXT NOT NULL,
    reason      TEXT NOT NULL,
    sqlstate    TEXT NOT NULL,
    tries_retried INTEGER NOT NULL,
    tries_ended INTEGER NOT NULL,
    message     TEXT NOT NULL,
    PRIMARY KEY (trial, reason, sqlstate)
) WITHOUT ROWID;

-- A command of a script, and at the trial's end its figures.
CREATE TABLE command (
    trial       INTEGER NOT NULL REFERENCES trial_begun (number) ON DELETE CASCADE,
    script      INTEGER NOT NULL,
    command     INTEGER NOT NULL,
    text        TEXT NOT NULL,
    is_sql      BOOLEAN NOT NULL,
    PRIMARY KEY (trial, script, command)
) WITHOUT ROWID;

CREATE TABLE command_total (
    trial       INTEGER NOT NULL REFERENCES trial_begun (number) ON DELETE CASCADE,
    script      INTEGER NOT NULL,
    command     INTEGER NOT NULL,
    executions  INTEGER NOT NULL,
    retries     INTEGER NOT NULL,
    failures    INTEGER NOT NULL,
    aborts      INTEGER NOT NULL,
    latency_sum_us INTEGER,
    latency_sum_squares_us2 TEXT,
    latency_max_us INTEGER,
    latency_histogram BLOB,
    PRIMARY KEY (trial, script, command)
);

CREATE TABLE connecting (
    trial       INTEGER PRIMARY KEY REFERENCES trial_begun (number) ON DELETE CASCADE,
    initial_us  INTEGER NOT NULL,
    connections INTEGER NOT NULL,
    latency_sum_us INTEGER NOT NULL,
    latency_sum_squares_us2 TEXT NOT NULL,
    latency_max_us INTEGER NOT NULL,
    latency_histogram BLOB NOT NULL,
    outages     INTEGER NOT NULL,
    outages_unended INTEGER NOT NULL,
    outage_attempts INTEGER NOT NULL,
    outage_measured_us INTEGER NOT NULL,
    outage_sum_us INTEGER NOT NULL,
    outage_sum_squares_us2 TEXT NOT NULL,
    outage_max_us INTEGER NOT NULL,
    outage_histogram BLOB NOT NULL
);

CREATE TABLE thread (
    trial       INTEGER NOT NULL REFERENCES trial_begun (number) ON DELETE CASCADE,
    thread      INTEGER NOT NULL,
    wall_us     INTEGER NOT NULL,
    user_us     INTEGER NOT NULL,
    system_us   INTEGER NOT NULL,
    waited_us   INTEGER NOT NULL,
    lag_max_us  INTEGER NOT NULL,
    -- How late its event loop was for answers and deadlines; NULL where too few say.
    lag_p99_us  INTEGER,
    PRIMARY KEY (trial, thread)
) WITHOUT ROWID;

CREATE TABLE event (
    trial       INTEGER NOT NULL REFERENCES trial_begun (number) ON DELETE CASCADE,
    -- In the order in which they were told.
    event       INTEGER NOT NULL,
    at_us       INTEGER NOT NULL,
    kind        TEXT NOT NULL,
    text        TEXT NOT NULL,
    -- How long it took, and the instrument that saw it.
    length_us   INTEGER,
    source      TEXT,
    PRIMARY KEY (trial, event)
) WITHOUT ROWID;

-- Transactions without the warm-up, connections with it.
CREATE TABLE endpoint (
    trial       INTEGER NOT NULL REFERENCES trial_begun (number) ON DELETE CASCADE,
    endpoint    INTEGER NOT NULL,
    name        TEXT NOT NULL,
    clients     INTEGER NOT NULL,
    connections INTEGER NOT NULL,
    lost        INTEGER NOT NULL,
    arrived     INTEGER NOT NULL,
    returned    INTEGER NOT NULL,
    committed   INTEGER NOT NULL,
    failed      INTEGER NOT NULL,
    skipped     INTEGER NOT NULL,
    unknown     INTEGER NOT NULL,
    late        INTEGER NOT NULL,
    retries     INTEGER NOT NULL,
    retried     INTEGER NOT NULL,
    -- JSON: class and number.
    failed_by_class TEXT NOT NULL,
    service_sum_us INTEGER NOT NULL,
    service_sum_squares_us2 TEXT NOT NULL,
    service_max_us INTEGER NOT NULL,
    service_histogram BLOB NOT NULL,
    response_sum_us INTEGER,
    response_sum_squares_us2 TEXT,
    response_max_us INTEGER,
    response_histogram BLOB,
    -- What happened there by second, as JSON; NULL where there is one endpoint only, which has its
    -- errors where the trial was disturbed.
    seconds     TEXT,
    PRIMARY KEY (trial, endpoint)
);

-- What instruments saw. Times are microseconds since clients began to work, below zero before.
CREATE TABLE instrument (
    trial       INTEGER NOT NULL REFERENCES trial_begun (number) ON DELETE CASCADE,
    instrument  INTEGER NOT NULL,
    name        TEXT NOT NULL,
    source      TEXT NOT NULL,
    PRIMARY KEY (trial, instrument)
) WITHOUT ROWID;

-- What it used on pgdyno's side; none when it did not end in time.
CREATE TABLE instrument_cpu (
    trial       INTEGER NOT NULL REFERENCES trial_begun (number) ON DELETE CASCADE,
    instrument  INTEGER NOT NULL,
    cpu_us      INTEGER NOT NULL,
    PRIMARY KEY (trial, instrument)
) WITHOUT ROWID;

CREATE TABLE series (
    trial       INTEGER NOT NULL REFERENCES trial_begun (number) ON DELETE CASCADE,
    series      INTEGER NOT NULL,
    instrument  INTEGER NOT NULL,
    name        TEXT NOT NULL,
    label       TEXT NOT NULL,
    unit        TEXT NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('gauge', 'sparse', 'counter', 'before_after')),
    PRIMARY KEY (trial, series)
) WITHOUT ROWID;

-- All that was read at a moment: JSON, series and figure. `series` is the first of them. In the order in which
-- they come, so that a second touches few pages.
CREATE TABLE samples (
    trial       INTEGER NOT NULL REFERENCES trial_begun (number) ON DELETE CASCADE,
    at_us       INTEGER NOT NULL,
    series      INTEGER NOT NULL,
    figures     TEXT NOT NULL,
    PRIMARY KEY (trial, at_us, series)
) WITHOUT ROWID;

-- Written at the end, as all that follows.
CREATE TABLE total (
    trial       INTEGER NOT NULL REFERENCES trial_begun (number) ON DELETE CASCADE,
    series      INTEGER NOT NULL,
    before_at_us INTEGER NOT NULL,
    before      REAL NOT NULL,
    after_at_us INTEGER NOT NULL,
    after       REAL NOT NULL,
    resets      INTEGER NOT NULL,
    PRIMARY KEY (trial, series)
) WITHOUT ROWID;

-- Written when it begins, and again when it is over: the latter counts.
CREATE TABLE gap (
    trial       INTEGER NOT NULL REFERENCES trial_begun (number) ON DELETE CASCADE,
    gap         INTEGER NOT NULL,
    instrument  INTEGER NOT NULL,
    label       TEXT NOT NULL,
    from_us     INTEGER,
    to_us       INTEGER,
    reason      TEXT NOT NULL,
    remedy      TEXT,
    is_over     BOOLEAN NOT NULL,
    PRIMARY KEY (trial, gap, is_over)
) WITHOUT ROWID;

CREATE TABLE server_statement (
    trial       INTEGER NOT NULL REFERENCES trial_begun (number) ON DELETE CASCADE,
    instrument  INTEGER NOT NULL,
    place       INTEGER NOT NULL,
    text        TEXT NOT NULL,
    calls       INTEGER NOT NULL,
    time_us     REAL NOT NULL,
    rows        INTEGER,
    -- JSON: what else the server tells, by its own names.
    details     TEXT NOT NULL,
    PRIMARY KEY (trial, instrument, place)
) WITHOUT ROWID;

-- What instruments found out that is no series; JSON. What is told last counts.
CREATE TABLE finding (
    trial       INTEGER NOT NULL REFERENCES trial_begun (number) ON DELETE CASCADE,
    instrument  INTEGER NOT NULL,
    name        TEXT NOT NULL,
    value       TEXT NOT NULL,
    told        INTEGER NOT NULL,
    PRIMARY KEY (trial, instrument, name, told)
) WITHOUT ROWID;

-- What its transactions observed, where that was recorded, as its clients recorded it (measurement): zlib.
-- Parts are that of its clients and that of who read every key at the end. `pgdyno export --history` has it
-- in words.
CREATE TABLE history (
    trial       INTEGER NOT NULL REFERENCES trial_begun (number) ON DELETE CASCADE,
    part        INTEGER NOT NULL,
    chunk       INTEGER NOT NULL,
    -- What began later, nanoseconds on the recorder's clock, is not in this part; NULL: all of it is.
    cut_ns      INTEGER,
    bytes       BLOB NOT NULL,
    PRIMARY KEY (trial, part, chunk)
);

-- Times without service within the asked duration.
CREATE TABLE stall (
    trial       INTEGER NOT NULL REFERENCES trial_begun (number) ON DELETE CASCADE,
    -- 'all', 'endpoint', 'client'.
    whose       TEXT    NOT NULL,
    -- Which endpoint or client; 0 of all.
    number      INTEGER NOT NULL,
    start_us    INTEGER NOT NULL,
    length_us   INTEGER NOT NULL,
    -- Whether a commit ended it.
    is_over     INTEGER NOT NULL,
    -- A client's transactions that failed meanwhile: an object of numbers by class, as JSON.
    failed_by_class TEXT NOT NULL,
    unknown     INTEGER NOT NULL,
    PRIMARY KEY (trial, whose, number, start_us)
) WITHOUT ROWID;

-- The measured transactions that took longest, the longest first.
CREATE TABLE worst (
    trial       INTEGER NOT NULL REFERENCES trial_begun (number) ON DELETE CASCADE,
    place       INTEGER NOT NULL,
    script      INTEGER NOT NULL,
    client      INTEGER NOT NULL,
    -- When it ended, and how long it took: from its scheduled start where there is a rate.
    ended_us    INTEGER NOT NULL,
    latency_us  INTEGER NOT NULL,
    PRIMARY KEY (trial, place)
) WITHOUT ROWID;

CREATE TABLE tag (
    tag         TEXT NOT NULL,
    trial       INTEGER NOT NULL REFERENCES trial_begun (number) ON DELETE CASCADE,
    PRIMARY KEY (tag, trial)
) WITHOUT ROWID;
CREATE INDEX tag_trial ON tag (trial);

-- Several pgdynos that measure one trial meet: this is the trial as the first to come has it.
CREATE TABLE meeting (
    uuid        TEXT PRIMARY KEY,
    join_key    TEXT NOT NULL UNIQUE,
    -- Whether somebody named it; else it is found by its load.
    is_named    BOOLEAN NOT NULL,
    -- By the notebook's clock, since 1970.
    created_us  INTEGER NOT NULL,
    generators  INTEGER NOT NULL,
    load_sha256 TEXT NOT NULL,
    spec        TEXT NOT NULL
);
CREATE INDEX meeting_load ON meeting (load_sha256);

-- Each has a place of its own.
CREATE TABLE generator (
    meeting     TEXT NOT NULL REFERENCES meeting (uuid) ON DELETE CASCADE,
    generator   INTEGER NOT NULL,
    host        TEXT NOT NULL,
    PRIMARY KEY (meeting, generator)
) WITHOUT ROWID;

-- What they say to each other. What one says for all has -1 for its place, so that there is one at each
-- step.
CREATE TABLE word (
    meeting     TEXT NOT NULL REFERENCES meeting (uuid) ON DELETE CASCADE,
    what        TEXT NOT NULL,
    step        INTEGER NOT NULL,
    place       INTEGER NOT NULL,
    generator   INTEGER NOT NULL,
    at_us       INTEGER NOT NULL,
    said        TEXT NOT NULL,
    PRIMARY KEY (meeting, what, step, place)
) WITHOUT ROWID;

-- Which trial is what one of them measured, and (generator -1) which one all of them.
CREATE TABLE part (
    trial       INTEGER PRIMARY KEY REFERENCES trial_begun (number) ON DELETE CASCADE,
    meeting     TEXT NOT NULL,
    generator   INTEGER NOT NULL
);
CREATE INDEX part_meeting ON part (meeting);

-- A trial: what was known before and what came of it.
CREATE VIEW trial AS
    SELECT b.number, b.uuid, coalesce(e.state, 'running') AS state, e.reason, b.created,
           coalesce(e.started, b.created) AS started, e.ended, b.experiment, b.position, b.point,
           b.repeat, b.excluded, b.note, b.ran_by, b.workload, b.pack_sha256, b.target, b.target_kind,
           b.server_version, b.isolation_in_effect, b.pgdyno, b.command, b.spec, b.load_sha256, b.mix, b.clients,
           b.threads, b.query_mode, b.isolation, b.duration_s, b.transactions_per_client,
           b.warmup_s, b.rate_per_s, b.latency_limit_us, b.retry, b.max_tries, b.backoff,
           b.retry_deadline_us, b.continue_on_error, b.connection_per_transaction, b.reconnect,
           b.seed, b.observe, b.pid_started, b.pid_namespace, b.boot_id, b.host_name,
           e.elapsed_us, e.committed, e.failed, e.skipped, e.unknown, e.late, e.retries,
           e.retried, e.given_up, e.cut_off, e.kept_us, e.kept_statements, e.lost_tries, e.lost_us,
           e.lost_statements, e.backoff_us, e.server_retries, e.goodput_per_s, e.service_mean_us,
           e.service_p50_us, e.service_p90_us, e.service_p95_us, e.service_p99_us,
           e.service_p99_9_us, e.service_max_us, e.response_mean_us, e.response_p50_us,
           e.response_p90_us, e.response_p95_us, e.response_p99_us, e.response_p99_9_us,
           e.response_max_us, e.response_p99_low_us, e.response_p99_high_us,
           e.response_p99_effective, e.attempt_mean_us, e.attempt_p50_us, e.attempt_p90_us,
           e.attempt_p95_us, e.attempt_p99_us, e.attempt_p99_9_us, e.attempt_max_us,
           e.client_user_us, e.client_system_us, e.clients_aborted, e.clients_disconnected,
           e.observers_cpu_us, CASE WHEN e.trial IS NULL THEN b.pid END AS pid, b.variables,
           b.host, coalesce(e.notes, b.notes) AS notes, b.facts, e.server_counters,
           e.truth,
           e.cluster_after, e.generators
    FROM trial_begun b LEFT JOIN trial_ended e ON e.trial = b.number;

-- A command with its figures; NULL until the trial has ended.
CREATE VIEW statement AS
    SELECT c.trial, c.script, c.command, c.text, c.is_sql, t.executions, t.retries, t.failures,
           t.aborts, t.latency_sum_us, t.latency_sum_squares_us2, t.latency_max_us,
           t.latency_histogram
    FROM command c LEFT JOIN command_total t
    ON t.trial = c.trial AND t.script = c.script AND t.command = c.command;

-- Trials whose figures may be compared: complete, and not excluded.
CREATE VIEW result AS
    SELECT e.name AS experiment_name, t.*
    FROM trial t LEFT JOIN experiment e ON e.number = t.experiment
    WHERE t.state = 'complete' AND t.excluded IS NULL;

-- All scripts together, second by second.
CREATE VIEW timeline AS
    SELECT trial, start_us, min(length_us) AS length_us, warmup,
           sum(committed) AS committed, sum(failed) AS failed, sum(skipped) AS skipped,
           sum(unknown) AS unknown, sum(late) AS late, sum(retries) AS retries,
           sum(retried) AS retried,
           sum(committed) * 1e6 / min(length_us) AS goodput_per_s,
           sum(service_sum_us) * 1.0 / nullif(sum(committed), 0) AS service_mean_us,
           max(service_max_us) AS service_max_us
    FROM second GROUP BY trial, start_us, warmup;

-- Failed transactions of the measured time, by reason.
CREATE VIEW failures AS
    SELECT trial, script, class, sum(transactions) AS transactions
    FROM failure WHERE NOT warmup GROUP BY trial, script, class;

-- Settings of the server that are not as its program has them.
-- on: sqlite
CREATE VIEW setting AS
    SELECT t.number AS trial, s.key AS name, s.value AS value
    FROM trial_begun t, json_each(t.facts, '$.changed_settings') s
    WHERE json_type(t.facts, '$.changed_settings.unknown') IS NULL;
-- on: postgresql
CREATE VIEW setting AS
    SELECT t.number AS trial, s.key AS name, s.value AS value
    FROM trial_begun t, json_each_text(t.facts::json -> 'changed_settings') s
    WHERE t.facts::json -> 'changed_settings' -> 'unknown' IS NULL;
-- on: all

-- A figure that was read.
-- on: sqlite
CREATE VIEW sample AS
    SELECT s.trial, s.at_us, CAST(f.key AS INTEGER) AS series, CAST(f.value AS REAL) AS value
    FROM samples s, json_each(s.figures) f;
-- on: postgresql
CREATE VIEW sample AS
    SELECT s.trial, s.at_us, f.key::BIGINT AS series, f.value::DOUBLE PRECISION AS value
    FROM samples s, json_each_text(s.figures::json) f;
-- on: all

-- What was read, with its name.
CREATE VIEW reading AS
    SELECT s.trial, s.at_us, i.name AS instrument, c.name, c.label, c.unit, c.kind, s.value
    FROM sample s JOIN series c USING (trial, series) JOIN instrument i USING (trial, instrument);
