{{include requested.sql}}
DELETE FROM kv WHERE k IN ({{key_list}});
