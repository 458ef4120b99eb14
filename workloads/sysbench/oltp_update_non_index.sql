{{include non-index-updates.sql}}
{{include end.sql}}
