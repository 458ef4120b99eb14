-- So many units as fit in a CALL, done by the server; it tells how many took how long.
{{include shares.sql}}
\set table :client_id % {{tables}} + 1
\set seed random(0, 1000000000) / 1000000000.0
{{for i 1 (case when :active_schemas > 0 then :active_schemas else :schemas end)}}
{{if :i = 1}}\if{{else}}\elif{{end}} :table = {{i}}
CALL pgdyno_{{tab_prefix}}{{i}}(:client_id, :clients, :seed, :call_ms, :call_units, :span, :work_unit, :update_work_unit, :updates, :scans, :hotspot_every, :hotspot_offset, :hotspot_blocks, :hot_table_every, :think_every, :think_min_ms, :think_max_ms, :commit_every, {{if :redo = 'heavy'}}true{{else}}false{{end}}, {{index_only}}, :server_tries, NULL, NULL, NULL, 0) \units select update scan
{{end}}
\endif
