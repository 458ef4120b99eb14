-- The statement of the loop, with ranges drawn as it draws them.
PREPARE pgdyno_batch(bigint, bigint) AS SELECT count(*), max({{if :index_only}}mykey{{else}}scratch{{end}}) FROM {{table}} WHERE mykey BETWEEN $1 AND $2;
\set span {{span}}
\for batch 1 100
\set low random(1, greatest(1, :span - :batch_size - 1))
\set high :low + :batch_size - 1
EXECUTE pgdyno_batch(:low, :high);
\endfor
