-- One statement, and so a transaction by itself. The sub-selects are there because old servers refuse
-- a WITH that nothing reads; in this order they also make PostgreSQL take the locks in the order in
-- which the other forms take them.
\set aid random(1, 100000 * :scale)
\set bid random(1, 1 * :scale)
\set tid random(1, 10 * :scale)
\set delta random(-5000, 5000)
WITH account AS (
  UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid RETURNING abalance
), teller AS (
  UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid RETURNING tid
), branch AS (
  UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid RETURNING bid
), history AS (
  INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
  VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP) RETURNING aid
)
SELECT abalance, (SELECT tid FROM teller), (SELECT bid FROM branch), (SELECT aid FROM history) FROM account;
