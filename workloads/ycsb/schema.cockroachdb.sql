-- The table of `cockroach workload init ycsb`: with families an update writes one small value.
-- The server names them as there: fam_0_ycsb_key, fam_1_field0 and so on.
CREATE TABLE {{table}} (ycsb_key varchar(255) NOT NULL PRIMARY KEY{{for i 0 (:fieldcount - 1)}}, {{fieldnameprefix}}{{i}} text{{end}}{{if :families}}, FAMILY (ycsb_key){{for i 0 (:fieldcount - 1)}}, FAMILY ({{fieldnameprefix}}{{i}}){{end}}{{end}});
-- At even distances of the numbers in keys, as there: 2^64 of them (java and go-ycsb: 2^63).
\for i 1 :splits
{{if :insertorder = 'ordered'}}
\set at 'user' || zero_pad(:recordstart + :recordcount / (:splits + 1) * :i, :zeropadding)
{{elif :keyformat = 'java' or :keyformat = 'go-ycsb'}}
\set at 'user' || zero_pad(4611686018427387904 / (:splits + 1) * :i * 2, :zeropadding)
{{else}}
\set at 'user' || zero_pad(unsigned((4611686018427387904 / (:splits + 1) * :i) << 2), :zeropadding)
{{end}}
ALTER TABLE {{table}} SPLIT AT VALUES (:at);
\endfor
