{{any_table}}
\set amount random(0, 998)
\set from random(0, :rows - 1)
\set to random(0, :rows - 2)
\set to case when :to >= :from then :to + 1 else :to end
BEGIN;
{{for i 0 (:table_count - 1)}}
{{if :i = 0}}\if{{else}}\elif{{end}} :table = {{i}}
UPDATE {{table}} SET balance = balance - :amount WHERE id = :from;
SELECT pg_sleep(0.01);
UPDATE {{table}} SET balance = balance + :amount WHERE id = :to;
{{end}}
\endif
COMMIT;
