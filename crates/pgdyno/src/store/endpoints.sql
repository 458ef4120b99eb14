-- What happened at each endpoint, and the isolation level that a trial asked for.

ALTER TABLE trial ADD COLUMN isolation TEXT;

-- Transactions without the warm-up, connections with it.
CREATE TABLE endpoint (
    trial       INTEGER NOT NULL REFERENCES trial (number) ON DELETE CASCADE,
    endpoint    INTEGER NOT NULL,
    name        TEXT NOT NULL,
    clients     INTEGER NOT NULL,
    connections INTEGER NOT NULL,
    lost        INTEGER NOT NULL,
    arrived     INTEGER NOT NULL,
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
    PRIMARY KEY (trial, endpoint)
);
