-- Building an index once is faster than growing it.
ALTER TABLE kv ADD PRIMARY KEY (k);
{{if :secondary_index}}
CREATE INDEX kv_v_idx ON kv (v);
{{end}}
