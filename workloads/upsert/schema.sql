CREATE TABLE upsert_counters (id bigint NOT NULL PRIMARY KEY, n bigint NOT NULL, total bigint NOT NULL);
