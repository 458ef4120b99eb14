-- Version 2: retry policies, and what tries cost. Older trials have none of it.

ALTER TABLE trial ADD COLUMN retry TEXT;
ALTER TABLE trial ADD COLUMN backoff TEXT;
ALTER TABLE trial ADD COLUMN retry_deadline_us INTEGER;
ALTER TABLE trial ADD COLUMN inject_retries INTEGER;
ALTER TABLE trial ADD COLUMN given_up INTEGER;
ALTER TABLE trial ADD COLUMN kept_us INTEGER;
ALTER TABLE trial ADD COLUMN kept_statements INTEGER;
ALTER TABLE trial ADD COLUMN lost_tries INTEGER;
ALTER TABLE trial ADD COLUMN lost_us INTEGER;
ALTER TABLE trial ADD COLUMN lost_statements INTEGER;
ALTER TABLE trial ADD COLUMN backoff_us INTEGER;
ALTER TABLE trial ADD COLUMN server_retries INTEGER;
ALTER TABLE trial ADD COLUMN attempt_mean_us REAL;
ALTER TABLE trial ADD COLUMN attempt_p50_us INTEGER;
ALTER TABLE trial ADD COLUMN attempt_p90_us INTEGER;
ALTER TABLE trial ADD COLUMN attempt_p95_us INTEGER;
ALTER TABLE trial ADD COLUMN attempt_p99_us INTEGER;
ALTER TABLE trial ADD COLUMN attempt_p99_9_us INTEGER;
ALTER TABLE trial ADD COLUMN attempt_max_us INTEGER;
-- JSON.
ALTER TABLE trial ADD COLUMN server_counters TEXT;

-- What the tries of a second cost; one row for each of `second`. The times of tries that were
-- committed are there where there may have been several.
CREATE TABLE work (
    trial       INTEGER NOT NULL REFERENCES trial (number) ON DELETE CASCADE,
    start_us    INTEGER NOT NULL,
    warmup      INTEGER NOT NULL,
    script      INTEGER NOT NULL,
    given_up    INTEGER NOT NULL,
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

-- Why tries of the measured time failed, with one message of each reason. Written at the end.
CREATE TABLE reason (
    trial       INTEGER NOT NULL REFERENCES trial (number) ON DELETE CASCADE,
    class       TEXT NOT NULL,
    reason      TEXT NOT NULL,
    sqlstate    TEXT NOT NULL,
    tries_retried INTEGER NOT NULL,
    tries_ended INTEGER NOT NULL,
    message     TEXT NOT NULL,
    PRIMARY KEY (trial, reason, sqlstate)
) WITHOUT ROWID;
