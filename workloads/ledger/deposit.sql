{{include change.sql}}
\set session {{session}}
SELECT session_id, expiry_timestamp, data, last_update FROM session WHERE session_id >= :session LIMIT 1;
{{include note.sql}}
COMMIT;
