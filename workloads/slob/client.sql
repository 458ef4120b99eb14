-- Units sent one after the other; their answers come in the same order.
{{include shares.sql}}
\startpipeline
\for unit 1 :pipeline
\set table :client_id % {{tables}} + 1
{{if :hot_table_every > 0}}
\if random(1, :hot_table_every) = 1
\set table 1
\endif
{{end}}
\set before 0
\set among :span
{{if :hotspot_every > 0}}
\if random(1, :hotspot_every) = 1
\set before :hotspot_offset
\set among :hotspot_blocks
\endif
{{end}}
\set dice random(0, 999999) / 1000000.0
\if :dice < :updates
{{if :update_pct > 0}}
{{if :hotspot_every > 0}}
\set first (:before + {{stride}} - 1) / {{stride}}
{{else}}
\set first 0
{{end}}
\set low (random(:first, (:before + :among) / {{stride}} - 1) * :clients + :client_id) * :update_work_unit + 1
\set high :low + :update_work_unit - 1
{{for i 1 (case when :active_schemas > 0 then :active_schemas else :schemas end)}}
{{if :i = 1}}\if{{else}}\elif{{end}} :table = {{i}}
UPDATE {{tab_prefix}}{{i}} SET {{include change.sql}} WHERE mykey BETWEEN :low AND :high \unit update
{{end}}
\endif
{{end}}
\elif :dice < :updates + :scans
{{if :scan_pct > 0}}
SELECT count(*), sum(scratch) FROM {{tab_prefix}}_scan \unit scan
{{end}}
\else
\set low :before + random(1, :among - :work_unit + 1)
\set high :low + :work_unit - 1
{{for i 1 (case when :active_schemas > 0 then :active_schemas else :schemas end)}}
{{if :i = 1}}\if{{else}}\elif{{end}} :table = {{i}}
SELECT count(*), sum({{if :index_only}}mykey{{else}}scratch{{end}}) FROM {{tab_prefix}}{{i}} WHERE mykey BETWEEN :low AND :high \unit select
{{end}}
\endif
\endif
{{if :commit_every < :pipeline}}
\if :unit % :commit_every = 0 and :unit < :pipeline
\syncpipeline
\endif
{{end}}
\endfor
\endpipeline
{{if :think_every > 0}}
\if random(1, :think_every) = 1
\set pause random(1000 * :think_min_ms, 1000 * :think_max_ms)
\sleep :pause us
\endif
{{end}}
