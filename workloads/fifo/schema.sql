-- The table of cockroach's queue.
CREATE TABLE queue (ts bigint NOT NULL, id bigint NOT NULL, PRIMARY KEY (ts, id));
