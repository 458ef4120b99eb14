-- With their primary keys, by which the rows lie.
{{for keys 1 1}}{{include tables.sql}}{{end}}
