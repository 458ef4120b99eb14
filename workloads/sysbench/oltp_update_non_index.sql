{{include non-index-updates.sql}}
