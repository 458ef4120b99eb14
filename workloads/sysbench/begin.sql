{{if not :skip_trx}}
BEGIN;
{{end}}
