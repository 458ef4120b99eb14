-- Reads counters, one after another.
BEGIN;
\for i 1 :max_length
\set key {{first}} + random(0, :keys - 1)
SELECT v, n FROM isolation_counters WHERE k = :key;
\observe read :key
\endfor
COMMIT;
