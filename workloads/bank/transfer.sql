-- From one account to another, in one statement; the draw of the second leaves the first one out.
\set from random(0, :rows - 1)
\set to random(0, :rows - 2)
\set to case when :to >= :from then :to + 1 else :to end
\set amount random(0, 998)
{{if :tables > 1}}
\set table random(0, :tables - 1)
{{end}}
{{for i 0 (:tables - 1)}}
{{if :tables > 1}}
{{if :i = 0}}\if{{else}}\elif{{end}} :table = {{i}}
{{end}}
UPDATE {{table}} SET balance = CASE id WHEN :from THEN balance - :amount WHEN :to THEN balance + :amount END WHERE id IN (:from, :to);
{{end}}
{{if :tables > 1}}
\endif
{{end}}
