{{include change.sql}}
{{include note.sql}}
\set data random_string(160)
\set expiry {{time}}
\set length random(60, 62)
INSERT INTO session (data, expiry_timestamp, last_update, session_id) VALUES (:data, :expiry, CURRENT_TIMESTAMP, substr(gen_random_uuid()::text || gen_random_uuid()::text, 1, :length));
COMMIT;
