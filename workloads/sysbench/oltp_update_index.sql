{{include index-updates.sql}}
