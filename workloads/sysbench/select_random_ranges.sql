-- Blanks and lines are sysbench's.
{{for p 1 :number_of_ranges}}
\set k{{p}} {{draw}}
\set l{{p}} :k{{p}} + :delta
{{end}}
        SELECT count(k)
          FROM sbtest1
          WHERE {{for p 1 :number_of_ranges}}{{if :p > 1}} OR {{end}}k BETWEEN :k{{p}} AND :l{{p}}{{end}};
{{include end.sql}}
