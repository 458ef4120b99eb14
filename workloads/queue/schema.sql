-- The oldest job comes first in the index.
CREATE TABLE queue_jobs (id bigint NOT NULL PRIMARY KEY, added_us bigint NOT NULL, payload text);
CREATE INDEX queue_jobs_oldest ON queue_jobs (added_us, id);
CREATE TABLE queue_taken (taking bigint NOT NULL PRIMARY KEY, id bigint NOT NULL);
