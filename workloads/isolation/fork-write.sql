-- Appends to one list, without having read anything.
\set key {{first}} + random(0, :keys - 1)
-- A try that is repeated writes another value: each names its write.
\set value fresh('values', 1)
INSERT INTO isolation_lists (k, v) VALUES (:key, (:value)::text) ON CONFLICT (k) DO UPDATE SET v = isolation_lists.v || ',' || excluded.v;
\observe append :key :value
