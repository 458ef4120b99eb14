-- Without keys: they are built when the rows are in.
{{for keys 0 0}}{{include tables.sql}}{{end}}
