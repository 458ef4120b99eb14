-- The table of cockroach's kv. Its key comes when the rows are in.
CREATE TABLE kv (k bigint NOT NULL, v bytea NOT NULL);
