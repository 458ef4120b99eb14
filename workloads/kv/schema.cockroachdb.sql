-- As `cockroach workload init kv` makes it, with splits at even distances of the keys.
CREATE TABLE kv (k BIGINT NOT NULL PRIMARY KEY, v BYTES NOT NULL{{if :secondary_index}}, INDEX (v){{end}});
\set at :key_min
\for i 1 :splits
\set at :at + (:key_max / (:splits + 1) - :key_min / (:splits + 1))
ALTER TABLE kv SPLIT AT VALUES (:at);
\endfor
{{if :scatter}}
ALTER TABLE kv SCATTER;
{{end}}
