-- One row by id.
\set t random(1, case when :use_tables > 0 then :use_tables else :tables end)
{{for i 1 (case when :use_tables > 0 then :use_tables else :tables end)}}
{{if :i = 1}}
\if :t = 1
{{else}}
\elif :t = {{i}}
{{end}}
\set id {{draw}}
DELETE FROM sbtest{{i}} WHERE id=:id \unit write
{{end}}
\endif
{{include end.sql}}
