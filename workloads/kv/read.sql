{{include requested.sql}}
\set found_k null
SELECT k, v FROM kv WHERE k IN ({{key_list}}) \aset found_
\if :found_k is null
\set empty next_key('empty', 1)
\endif
