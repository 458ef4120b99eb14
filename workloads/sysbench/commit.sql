{{if not :skip_trx}}
COMMIT;
{{end}}
