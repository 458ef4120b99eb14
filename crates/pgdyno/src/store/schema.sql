-- The notebook's tables, version 1. Described for users in docs/store.md.
-- Times are UTC as text (2026-01-31T12:00:00.000000Z); latencies are whole microseconds.
-- The histograms are HdrHistogram's V2 encoding. Sums of squares exceed 64 bits: decimal text.

CREATE TABLE experiment (
    number      INTEGER PRIMARY KEY,
    uuid        TEXT NOT NULL UNIQUE,
    name        TEXT NOT NULL,
    created     TEXT NOT NULL,
    definition  TEXT NOT NULL,
    host        TEXT NOT NULL
);
CREATE INDEX experiment_name ON experiment (name);

-- AUTOINCREMENT: the number of a trial that was removed never names another.
CREATE TABLE trial (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid        TEXT NOT NULL UNIQUE,
    state       TEXT NOT NULL CHECK (state IN ('running', 'complete', 'failed', 'aborted')),
    reason      TEXT,
    started     TEXT NOT NULL,
    ended       TEXT,
    -- Where it stands in an experiment.
    experiment  INTEGER REFERENCES experiment (number),
    position    INTEGER,
    point       TEXT,
    repeat      INTEGER,
    -- What people say of it.
    excluded    TEXT,
    note        TEXT,
    -- What was run.
    workload    TEXT NOT NULL,
    pack_sha256 TEXT,
    mix         TEXT,
    target      TEXT NOT NULL,
    target_kind TEXT NOT NULL,
    server_version TEXT,
    pgdyno      TEXT NOT NULL,
    command     TEXT NOT NULL,
    clients     INTEGER NOT NULL,
    threads     INTEGER NOT NULL,
    query_mode  TEXT NOT NULL,
    duration_s  REAL,
    transactions_per_client INTEGER,
    warmup_s    REAL NOT NULL,
    rate_per_s  REAL,
    latency_limit_us INTEGER,
    max_tries   INTEGER NOT NULL,
    continue_on_error INTEGER NOT NULL,
    connection_per_transaction INTEGER NOT NULL,
    reconnect   INTEGER NOT NULL,
    seed        INTEGER NOT NULL,
    -- What it came to, warm-up left out.
    elapsed_us  INTEGER,
    committed   INTEGER,
    failed      INTEGER,
    skipped     INTEGER,
    unknown     INTEGER,
    late        INTEGER,
    retries     INTEGER,
    retried     INTEGER,
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
    client_user_us   INTEGER,
    client_system_us INTEGER,
    clients_aborted  INTEGER,
    clients_disconnected INTEGER,
    -- The process that runs it, to find out whether it has died.
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
CREATE INDEX trial_workload ON trial (workload);
CREATE INDEX trial_state ON trial (state);
CREATE INDEX trial_started ON trial (started);
CREATE INDEX trial_experiment ON trial (experiment, position);

CREATE TABLE script (
    trial       INTEGER NOT NULL REFERENCES trial (number) ON DELETE CASCADE,
    script      INTEGER NOT NULL,
    name        TEXT NOT NULL,
    weight      INTEGER NOT NULL,
    PRIMARY KEY (trial, script)
) WITHOUT ROWID;

-- Shorter ones stand where a phase ends; the last of the warm-up and the first behind it may begin
-- in the same microsecond.
CREATE TABLE second (
    trial       INTEGER NOT NULL REFERENCES trial (number) ON DELETE CASCADE,
    start_us    INTEGER NOT NULL,
    warmup      INTEGER NOT NULL,
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
    PRIMARY KEY (trial, start_us, warmup, script)
);

CREATE TABLE failure (
    trial       INTEGER NOT NULL REFERENCES trial (number) ON DELETE CASCADE,
    start_us    INTEGER NOT NULL,
    warmup      INTEGER NOT NULL,
    script      INTEGER NOT NULL,
    class       TEXT NOT NULL,
    transactions INTEGER NOT NULL,
    PRIMARY KEY (trial, start_us, warmup, script, class)
) WITHOUT ROWID;

-- Figures come at the trial's end; before, and when it never came, they are NULL.
CREATE TABLE statement (
    trial       INTEGER NOT NULL REFERENCES trial (number) ON DELETE CASCADE,
    script      INTEGER NOT NULL,
    command     INTEGER NOT NULL,
    text        TEXT NOT NULL,
    is_sql      INTEGER NOT NULL,
    executions  INTEGER,
    retries     INTEGER,
    failures    INTEGER,
    aborts      INTEGER,
    latency_sum_us INTEGER,
    latency_sum_squares_us2 TEXT,
    latency_max_us INTEGER,
    latency_histogram BLOB,
    PRIMARY KEY (trial, script, command)
);

CREATE TABLE connecting (
    trial       INTEGER PRIMARY KEY REFERENCES trial (number) ON DELETE CASCADE,
    initial_us  INTEGER NOT NULL,
    connections INTEGER NOT NULL,
    latency_sum_us INTEGER NOT NULL,
    latency_sum_squares_us2 TEXT NOT NULL,
    latency_max_us INTEGER NOT NULL,
    latency_histogram BLOB NOT NULL,
    outages     INTEGER NOT NULL,
    outages_unended INTEGER NOT NULL,
    outage_attempts INTEGER NOT NULL,
    outage_sum_us INTEGER NOT NULL,
    outage_sum_squares_us2 TEXT NOT NULL,
    outage_max_us INTEGER NOT NULL,
    outage_histogram BLOB NOT NULL
);

CREATE TABLE thread (
    trial       INTEGER NOT NULL REFERENCES trial (number) ON DELETE CASCADE,
    thread      INTEGER NOT NULL,
    wall_us     INTEGER NOT NULL,
    user_us     INTEGER NOT NULL,
    system_us   INTEGER NOT NULL,
    waited_us   INTEGER NOT NULL,
    lag_max_us  INTEGER NOT NULL,
    PRIMARY KEY (trial, thread)
) WITHOUT ROWID;

CREATE TABLE event (
    trial       INTEGER NOT NULL REFERENCES trial (number) ON DELETE CASCADE,
    at_us       INTEGER NOT NULL,
    kind        TEXT NOT NULL,
    text        TEXT NOT NULL
);
CREATE INDEX event_trial ON event (trial, at_us);

CREATE TABLE tag (
    tag         TEXT NOT NULL,
    trial       INTEGER NOT NULL REFERENCES trial (number) ON DELETE CASCADE,
    PRIMARY KEY (tag, trial)
) WITHOUT ROWID;
CREATE INDEX tag_trial ON tag (trial);

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
CREATE VIEW setting AS
    SELECT t.number AS trial, s.key AS name, s.value AS value
    FROM trial t, json_each(t.facts, '$.changed_settings') s
    WHERE json_type(t.facts, '$.changed_settings.unseen') IS NULL;
