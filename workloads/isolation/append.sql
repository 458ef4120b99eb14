-- Reads lists, and appends to them.
\set length random(1, :max_length)
\set offset random(0, :keys - 1)
BEGIN;
\for i 1 :length
-- Upwards, so that two transactions do not wait for each other in a circle.
\set offset least(:offset + random(0, 1), :keys - 1)
\set key {{first}} + :offset
\if random(1, 100) <= :read_percent
SELECT v FROM isolation_lists WHERE k = :key;
\observe list :key
\else
-- A try that is repeated writes other values: each names its write.
\set value fresh('values', 1)
INSERT INTO isolation_lists (k, v) VALUES (:key, (:value)::text) ON CONFLICT (k) DO UPDATE SET v = isolation_lists.v || ',' || excluded.v;
\observe append :key :value
\endif
\endfor
COMMIT;
