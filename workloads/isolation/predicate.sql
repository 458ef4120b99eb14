-- Reads all rows of a key, and inserts some.
\set length random(1, :max_length)
BEGIN;
\for i 1 :length
\set key {{first}} + random(0, :keys - 1)
\if random(1, 100) <= :read_percent
SELECT v FROM isolation_rows WHERE k = :key;
\observe rows :key
\else
-- A try that is repeated writes other values: each names its write.
\set value fresh('values', 1)
INSERT INTO isolation_rows (k, v) VALUES (:key, :value);
\observe insert :key :value
\endif
\endfor
COMMIT;
