-- One transaction: pgbench's language. random draws evenly; zipfian(1, :rows, 0.99) would have hot keys.
\set id random(1, :rows)
SELECT hits, note FROM TABLE_NAME WHERE id = :id;
