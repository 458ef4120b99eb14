-- Each kind of range has a table of its own.
{{for q 1 4}}
\set t random(1, case when :use_tables > 0 then :use_tables else :tables end)
{{for i 1 (case when :use_tables > 0 then :use_tables else :tables end)}}
{{if :i = 1}}
\if :t = 1
{{else}}
\elif :t = {{i}}
{{end}}
\for n 1 {{if :q = 1}}:simple_ranges{{elif :q = 2}}:sum_ranges{{elif :q = 3}}:order_ranges{{else}}:distinct_ranges{{end}}
\set id {{draw}}
\set last :id + :range_size - 1
{{if :q = 1}}
SELECT c FROM sbtest{{i}} WHERE id BETWEEN :id AND :last;
{{elif :q = 2}}
SELECT SUM(k) FROM sbtest{{i}} WHERE id BETWEEN :id AND :last;
{{elif :q = 3}}
SELECT c FROM sbtest{{i}} WHERE id BETWEEN :id AND :last ORDER BY c;
{{else}}
SELECT DISTINCT c FROM sbtest{{i}} WHERE id BETWEEN :id AND :last ORDER BY c;
{{end}}
\endfor
{{end}}
\endif
{{end}}
