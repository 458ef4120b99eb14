-- The table of cockroach's kv, sharded by the hashes of its keys.
CREATE TABLE kv (k bigint NOT NULL, v bytea NOT NULL, PRIMARY KEY (k HASH)){{if :splits > 0}} SPLIT INTO :splits TABLETS{{end}};
