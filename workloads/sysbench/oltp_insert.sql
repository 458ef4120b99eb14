-- One row.
\set t random(1, case when :use_tables > 0 then :use_tables else :tables end)
{{for i 1 (case when :use_tables > 0 then :use_tables else :tables end)}}
{{if :i = 1}}
\if :t = 1
{{else}}
\elif :t = {{i}}
{{end}}
\set k {{draw}}
\set c {{c}}
\set pad {{pad}}
{{if :insert_ids}}
\set id permute(next_key('ids', 0), 4294967296, :unique_seed) - 2147483648
INSERT INTO sbtest{{i}} (id, k, c, pad) VALUES (:id, :k, :c, :pad) \unit write
{{else}}
INSERT INTO sbtest{{i}} (k, c, pad) VALUES (:k, :c, :pad) \unit write
{{end}}
{{end}}
\endif
{{include end.sql}}
