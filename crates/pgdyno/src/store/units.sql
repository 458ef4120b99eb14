-- Work units: what a workload counts when a transaction is not it. Older trials have none.

CREATE TABLE operation (
    trial       INTEGER NOT NULL REFERENCES trial (number) ON DELETE CASCADE,
    operation   INTEGER NOT NULL,
    name        TEXT NOT NULL,
    PRIMARY KEY (trial, operation)
) WITHOUT ROWID;

-- Those of a second, by script and operation; only where there were any.
CREATE TABLE unit (
    trial       INTEGER NOT NULL REFERENCES trial (number) ON DELETE CASCADE,
    start_us    INTEGER NOT NULL,
    warmup      INTEGER NOT NULL,
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
