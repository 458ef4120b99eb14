-- Runs once, before the rows are loaded. schema.cockroachdb.sql or schema.yugabytedb.sql beside it would take
-- its place there.
CREATE TABLE TABLE_NAME (id bigint PRIMARY KEY, hits bigint NOT NULL, note text);
