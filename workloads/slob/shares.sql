\set span {{span}}
-- Shares of all units.
\set scans :scan_pct / 100.0
{{if :update_pct = 0}}
\set updates 0.0
{{elif :update_share = 'rows'}}
\set updates (1 - :scans) * :update_pct * :work_unit / (:update_pct * :work_unit + (100 - :update_pct) * :update_work_unit)
{{else}}
\set updates :update_pct / 100.0
{{end}}
