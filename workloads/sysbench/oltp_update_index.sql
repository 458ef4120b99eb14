{{include index-updates.sql}}
{{include end.sql}}
