{{include begin.sql}}
{{include index-updates.sql}}
{{include non-index-updates.sql}}
{{include delete-inserts.sql}}
{{include commit.sql}}
{{include end.sql}}
