-- Rows of one table by id.
\set t random(1, case when :use_tables > 0 then :use_tables else :tables end)
{{for i 1 (case when :use_tables > 0 then :use_tables else :tables end)}}
{{if :i = 1}}
\if :t = 1
{{else}}
\elif :t = {{i}}
{{end}}
\for n 1 {{if :script = 'oltp_point_select'}}1{{else}}:point_selects{{end}}
\set id {{draw}}
SELECT c FROM sbtest{{i}} WHERE id=:id;
\endfor
{{end}}
\endif
