{{include begin.sql}}
{{include points.sql}}
{{if :range_selects}}
{{include ranges.sql}}
{{end}}
{{include index-updates.sql}}
{{include non-index-updates.sql}}
{{include delete-inserts.sql}}
{{include commit.sql}}
{{include end.sql}}
