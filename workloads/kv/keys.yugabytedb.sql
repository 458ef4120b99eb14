-- The primary key is in the schema.
{{if :secondary_index}}
CREATE INDEX kv_v_idx ON kv (v);
{{end}}
