{{include requested.sql}}
\set found_k null
SELECT k, v FROM kv WHERE k IN ({{key_list}}) \aset found_
\if :found_k is null
\set empty next_key('empty', 1)
{{if :write_seq > 0 and :del_percent = 0}}
\set missing next_key('missing', 1)
{{end}}
\endif
