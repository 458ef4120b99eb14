{{if :span_limit > 0}}
\set last least(acknowledged('written', :write_seq), :cycle_length - 1)
\if :last < 0
\set k0 0
\else
\set number uniform(0, greatest(:last, 0))
\set k0 {{key}}
\endif
SELECT count(v) FROM (SELECT v FROM kv WHERE k >= :k0 ORDER BY k LIMIT :span_limit) AS span;
{{else}}
SELECT count(v) FROM (SELECT v FROM kv) AS span;
{{end}}
