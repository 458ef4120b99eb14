-- Blanks and lines are sysbench's.
{{for p 1 :random_points}}
\set k{{p}} {{draw}}
{{end}}
        SELECT id, k, c, pad
          FROM sbtest1
          WHERE k IN ({{for p 1 :random_points}}{{if :p > 1}}, {{end}}:k{{p}}{{end}})
        ;
{{include end.sql}}
