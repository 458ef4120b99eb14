{{include points.sql}}
{{include end.sql}}
