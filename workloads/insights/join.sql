-- A table and the next one.
{{any_table}}
{{for i 0 (:table_count - 1)}}
{{if :i = 0}}\if{{else}}\elif{{end}} :table = {{i}}
SELECT a.balance, b.balance FROM {{table}} a LEFT JOIN {{for j 0 (:table_count - 1)}}{{if :j = (:i + 1) % :table_count}}insights_workload_table_{{j}}{{end}}{{end}} b ON a.shared_key = b.shared_key WHERE a.balance < 0;
{{end}}
\endif
