-- The sequence goes on behind the loaded rows.
{{for i 1 :tables}}
ALTER TABLE sbtest{{i}} ADD PRIMARY KEY (id);
{{if :auto_inc and :table_size > 0}}
SELECT setval(pg_get_serial_sequence('sbtest{{i}}', 'id'), {{table_size}});
{{end}}
{{if :create_secondary}}
CREATE INDEX k_{{i}} ON sbtest{{i}} (k);
{{end}}
{{end}}
