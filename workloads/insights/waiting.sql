-- The oldest row that may be locked now.
\set row (acknowledged('locked', 0) + 1) % :rows
\set amount random(0, 998)
UPDATE insights_workload_table_0 SET balance = :amount WHERE id = :row;
