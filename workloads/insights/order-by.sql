{{any_table}}
\set limit random(1, :rows)
{{for i 0 (:table_count - 1)}}
{{if :i = 0}}\if{{else}}\elif{{end}} :table = {{i}}
SELECT balance FROM {{table}} ORDER BY balance DESC LIMIT :limit;
{{end}}
\endif
