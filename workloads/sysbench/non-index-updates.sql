-- Updates of a column without index.
\set t random(1, case when :use_tables > 0 then :use_tables else :tables end)
{{for i 1 (case when :use_tables > 0 then :use_tables else :tables end)}}
{{if :i = 1}}
\if :t = 1
{{else}}
\elif :t = {{i}}
{{end}}
\for n 1 :non_index_updates
\set c {{c}}
\set id {{draw}}
UPDATE sbtest{{i}} SET c=:c WHERE id=:id \unit write
\endfor
{{end}}
\endif
