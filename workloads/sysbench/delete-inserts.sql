-- Rows that are deleted and come back with other values.
\set t random(1, case when :use_tables > 0 then :use_tables else :tables end)
{{for i 1 (case when :use_tables > 0 then :use_tables else :tables end)}}
{{if :i = 1}}
\if :t = 1
{{else}}
\elif :t = {{i}}
{{end}}
\for n 1 :delete_inserts
\set id {{draw}}
\set k {{draw}}
\set c {{c}}
\set pad {{pad}}
DELETE FROM sbtest{{i}} WHERE id=:id \unit write
INSERT INTO sbtest{{i}} (id, k, c, pad) VALUES (:id, :k, :c, :pad) \unit write
\endfor
{{end}}
\endif
