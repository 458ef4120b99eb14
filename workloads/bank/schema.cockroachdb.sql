-- As `cockroach workload init bank` makes them: one column family, and the splits of --ranges.
{{for i 0 (:tables - 1)}}
CREATE TABLE {{table}} (id INT8 PRIMARY KEY, balance INT8, payload STRING, FAMILY (id, balance, payload));
\for i 1 (:ranges - 1)
\set at :i * (:rows / :ranges)
ALTER TABLE {{table}} SPLIT AT VALUES (:at);
\endfor
{{end}}
