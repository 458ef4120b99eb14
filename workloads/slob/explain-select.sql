-- The statement of the loops, with keys drawn as they draw them.
{{if :index_only}}
PREPARE pgdyno_unit(bigint, bigint) AS SELECT count(*), sum(mykey) FROM {{tab_prefix}}1 WHERE mykey BETWEEN $1 AND $2;
{{else}}
PREPARE pgdyno_unit(bigint, bigint) AS SELECT count(*), sum(scratch) FROM {{tab_prefix}}1 WHERE mykey BETWEEN $1 AND $2;
{{end}}
\set span {{span}}
\for unit 1 100
\set low random(1, :span - :work_unit + 1)
\set high :low + :work_unit - 1
EXECUTE pgdyno_unit(:low, :high);
\endfor
