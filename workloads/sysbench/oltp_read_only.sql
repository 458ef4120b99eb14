{{include begin.sql}}
{{include points.sql}}
{{if :range_selects}}
{{include ranges.sql}}
{{end}}
{{include commit.sql}}
{{include end.sql}}
