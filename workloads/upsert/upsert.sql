\set id zipfian(1, :counters, :theta)
\set step :id % 10 + 1
INSERT INTO upsert_counters AS c (id, n, total) VALUES (:id, 1, :step) ON CONFLICT (id) DO UPDATE SET n = c.n + 1, total = c.total + excluded.total;
