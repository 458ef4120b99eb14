\for unit 1 100
\set id random(1, :rows)
SELECT * FROM own1 {{by_key}};
\endfor
