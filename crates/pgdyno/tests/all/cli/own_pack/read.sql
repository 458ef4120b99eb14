\set id random(1, :rows)
SELECT * FROM own1 {{by_key}} \unit lookup
