-- Small ones: in shared buffers, each row for itself.
CREATE TABLE point (id int PRIMARY KEY, n bigint NOT NULL);
INSERT INTO point SELECT i, 0 FROM generate_series(1, 10000) i;
CREATE TABLE hot (id int PRIMARY KEY, n bigint NOT NULL);
INSERT INTO hot SELECT i, 0 FROM generate_series(1, 4) i;
CREATE TABLE journal (n int);
CREATE TABLE wide_journal (filler text);
ALTER TABLE wide_journal ALTER filler SET STORAGE PLAIN;

-- A row a block: 40,000 blocks, far more than shared buffers.
CREATE TABLE big (id int, filler char(1000) NOT NULL DEFAULT 'x') WITH (fillfactor = 10);
INSERT INTO big SELECT i FROM generate_series(1, 40000) i ORDER BY random();
CREATE INDEX ON big (id);
CREATE TABLE scanned (filler char(1000) NOT NULL) WITH (fillfactor = 10, parallel_workers = 0);
INSERT INTO scanned SELECT i FROM generate_series(1, 4000) i;

-- Rows of 1 MB, which do not get shorter: the length on the wire is theirs.
CREATE TABLE wide (id int PRIMARY KEY, filler text NOT NULL);
ALTER TABLE wide ALTER filler SET STORAGE EXTERNAL;
INSERT INTO wide SELECT i, repeat('x', 1000000) FROM generate_series(1, 4) i;

-- Of 300 parts, without a value by which any could be left out.
CREATE TABLE parts (id int, part int) PARTITION BY LIST (part);
DO $$ BEGIN
    FOR i IN 1..300 LOOP
        EXECUTE format('CREATE TABLE part_%s PARTITION OF parts FOR VALUES IN (%s)', i, i);
    END LOOP;
END $$;

CREATE ROLE few LOGIN CONNECTION LIMIT 10;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO few;
GRANT pg_monitor TO few
