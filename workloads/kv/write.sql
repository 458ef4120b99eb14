-- The next numbers' keys, each with a new value.
{{for i 0 (:batch - 1)}}
\set number mod(next_key('written', :write_seq), :cycle_length)
\set k{{i}} {{key}}
{{if :compression_ratio > 1}}
\set size {{size}}
\set unique random_string(greatest(1, int(:size / :compression_ratio)))
{{end}}
\set v{{i}} {{value}}
{{end}}
{{if :script = 'write-for-update'}}
BEGIN;
SELECT k, v FROM kv WHERE k IN ({{key_list}}) FOR UPDATE;
\sleep :sfu_wait_ms ms
{{end}}
{{if :statement = 'upsert'}}
UPSERT INTO kv (k, v) VALUES {{for i 0 (:batch - 1)}}{{if :i > 0}}, {{end}}(:k{{i}}, :v{{i}}){{end}};
{{elif :keys = 'zipfian' and :batch > 1}}
-- A key may have been drawn twice, and a statement may change a row only once.
INSERT INTO kv (k, v) SELECT DISTINCT ON (k) k, v FROM (VALUES {{for i 0 (:batch - 1)}}{{if :i > 0}}, {{end}}(:k{{i}}::bigint, :v{{i}}::bytea){{end}}) AS batch (k, v) ON CONFLICT (k) DO UPDATE SET v = excluded.v;
{{else}}
INSERT INTO kv (k, v) VALUES {{for i 0 (:batch - 1)}}{{if :i > 0}}, {{end}}(:k{{i}}, :v{{i}}){{end}} ON CONFLICT (k) DO UPDATE SET v = excluded.v;
{{end}}
{{if :script = 'write-for-update'}}
COMMIT;
{{end}}
