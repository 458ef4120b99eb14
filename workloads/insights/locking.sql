\set row next_key('locked', 0) % :rows
\set wait_ms random(:hold_ms_min, :hold_ms_max)
BEGIN;
UPDATE insights_workload_table_0 SET balance = 42 WHERE id = :row;
\sleep :wait_ms ms
COMMIT;
