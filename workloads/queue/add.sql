\set id random(1, 9223372036854775807)
\set payload random_string(:payload_bytes)
INSERT INTO queue_jobs (id, added_us, payload) VALUES (:id, (extract(epoch from clock_timestamp()) * 1000000)::bigint, :payload);
