-- By the index, in which rows are in no order: none of this goes past the buffers by a ring of its own.
{{for i 1 (case when :active_schemas > 0 then :active_schemas else :schemas end)}}
PREPARE pgdyno_read_{{i}}(bigint, bigint) AS SELECT count(*), sum(scratch) FROM {{tab_prefix}}{{i}} WHERE mykey BETWEEN $1 AND $2;
{{end}}
\set span {{span}}
\for part 0 ((:span - 1) / 8192)
\set low :part * 8192 + 1
\set high least(:low + 8191, :span)
{{for i 1 (case when :active_schemas > 0 then :active_schemas else :schemas end)}}
EXECUTE pgdyno_read_{{i}}(:low, :high);
{{end}}
\endfor
