-- A session appends to a list and sees what it is then: one statement, so that each level has one snapshot.
\set key {{first}} + random(0, :keys - 1)
-- A try that is repeated writes another value: each names its write.
\set value fresh('values', 1)
INSERT INTO isolation_lists (k, v) VALUES (:key, (:value)::text) ON CONFLICT (k) DO UPDATE SET v = isolation_lists.v || ',' || excluded.v RETURNING v;
\observe append :key :value
\observe list :key
