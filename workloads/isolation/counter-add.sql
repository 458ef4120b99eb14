-- Reads a counter, and writes it one higher: of two that read the same, one is lost.
BEGIN;
\set key {{first}} + random(0, :keys - 1)
SELECT max(v) AS v, coalesce(max(n), 0) AS n FROM isolation_counters WHERE k = :key \gset
\observe read :key
-- A try that is repeated writes another value: it names the increment.
\set value fresh('values', 1)
\set n :n + 1
INSERT INTO isolation_counters (k, v, n) VALUES (:key, :value, :n) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = excluded.n;
\observe write :key :value
COMMIT;
