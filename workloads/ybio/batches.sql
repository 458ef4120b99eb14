-- So many batches as fit in a CALL, done by the server; it tells how many took how long.
\set span {{span}}
\set seed random(0, 1000000000) / 1000000000.0
CALL pgdyno_{{table}}(:call_ms, :seed, :span, :batch_size, :pct_update, {{prepared}}, {{index_only}}, :notice_every_s, :job_id, NULL, NULL) \units select update
