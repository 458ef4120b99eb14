-- One statement, and so a transaction by itself. The sub-select is there because old servers refuse a
-- WITH that nothing reads.
\set aid random(1, 100000 * :scale)
\set bid random(1, 1 * :scale)
\set tid random(1, 10 * :scale)
\set delta random(-5000, 5000)
WITH account AS (
  UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid RETURNING abalance
), history AS (
  INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
  VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP) RETURNING aid
)
SELECT abalance, (SELECT aid FROM history) FROM account;
