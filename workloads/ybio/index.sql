{{if :index_as_pk}}
ALTER TABLE {{table}} ADD CONSTRAINT {{table}}_pk_mykey PRIMARY KEY (mykey);
{{else}}
CREATE INDEX {{table}}_asc_mykey ON {{table}} (mykey ASC);
{{end}}
