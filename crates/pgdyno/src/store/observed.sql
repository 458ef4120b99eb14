-- Version 4: what instruments saw. Older trials have none of it.
-- Times are microseconds since clients began to work, below zero before.

-- What was asked for (--observe), and what all instruments used of the CPU on pgdyno's side.
ALTER TABLE trial ADD COLUMN observe TEXT;
ALTER TABLE trial ADD COLUMN observers_cpu_us INTEGER;

-- How long what happened took, and the instrument that saw it.
ALTER TABLE event ADD COLUMN length_us INTEGER;
ALTER TABLE event ADD COLUMN source TEXT;

CREATE TABLE instrument (
    trial       INTEGER NOT NULL REFERENCES trial (number) ON DELETE CASCADE,
    instrument  INTEGER NOT NULL,
    name        TEXT NOT NULL,
    source      TEXT NOT NULL,
    -- On pgdyno's side; NULL when it did not end in time.
    cpu_us      INTEGER,
    PRIMARY KEY (trial, instrument)
) WITHOUT ROWID;

CREATE TABLE series (
    trial       INTEGER NOT NULL REFERENCES trial (number) ON DELETE CASCADE,
    series      INTEGER NOT NULL,
    instrument  INTEGER NOT NULL,
    name        TEXT NOT NULL,
    label       TEXT NOT NULL,
    unit        TEXT NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('gauge', 'sparse', 'counter', 'before_after')),
    PRIMARY KEY (trial, series)
) WITHOUT ROWID;

-- In the order in which they come, so that a second touches few pages.
CREATE TABLE sample (
    trial       INTEGER NOT NULL REFERENCES trial (number) ON DELETE CASCADE,
    at_us       INTEGER NOT NULL,
    series      INTEGER NOT NULL,
    value       REAL NOT NULL,
    PRIMARY KEY (trial, at_us, series)
) WITHOUT ROWID;

-- Written at the end, as all that follows.
CREATE TABLE total (
    trial       INTEGER NOT NULL REFERENCES trial (number) ON DELETE CASCADE,
    series      INTEGER NOT NULL,
    before_at_us INTEGER NOT NULL,
    before      REAL NOT NULL,
    after_at_us INTEGER NOT NULL,
    after       REAL NOT NULL,
    resets      INTEGER NOT NULL,
    PRIMARY KEY (trial, series)
) WITHOUT ROWID;

-- Written when it begins, and again when it is over.
CREATE TABLE gap (
    trial       INTEGER NOT NULL REFERENCES trial (number) ON DELETE CASCADE,
    gap         INTEGER NOT NULL,
    instrument  INTEGER NOT NULL,
    label       TEXT NOT NULL,
    from_us     INTEGER,
    to_us       INTEGER,
    reason      TEXT NOT NULL,
    remedy      TEXT,
    PRIMARY KEY (trial, gap)
) WITHOUT ROWID;

CREATE TABLE server_statement (
    trial       INTEGER NOT NULL REFERENCES trial (number) ON DELETE CASCADE,
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

-- What instruments found out that is no series; JSON.
CREATE TABLE finding (
    trial       INTEGER NOT NULL REFERENCES trial (number) ON DELETE CASCADE,
    instrument  INTEGER NOT NULL,
    name        TEXT NOT NULL,
    value       TEXT NOT NULL,
    PRIMARY KEY (trial, instrument, name)
) WITHOUT ROWID;

-- The measured transactions that took longest, the longest first.
CREATE TABLE worst (
    trial       INTEGER NOT NULL REFERENCES trial (number) ON DELETE CASCADE,
    place       INTEGER NOT NULL,
    script      INTEGER NOT NULL,
    client      INTEGER NOT NULL,
    -- When it ended, and how long it took: from its scheduled start where there is a rate.
    ended_us    INTEGER NOT NULL,
    latency_us  INTEGER NOT NULL,
    PRIMARY KEY (trial, place)
) WITHOUT ROWID;

-- What was read, with its name.
CREATE VIEW reading AS
    SELECT s.trial, s.at_us, i.name AS instrument, c.name, c.label, c.unit, c.kind, s.value
    FROM sample s JOIN series c USING (trial, series) JOIN instrument i USING (trial, instrument);
