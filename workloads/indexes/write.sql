-- The largest of the ten numbers is a bigint too.
\set key random(0, least(:cycle_length, 9223372036854775798) - 1)
\set bytes random_string(:payload)
INSERT INTO indexes VALUES (lpad(to_hex(:key::bigint), 32, '0')::uuid{{for i 0 9}}, :key::bigint + {{i}}{{end}}, :bytes) ON CONFLICT (key) DO UPDATE SET {{for i 0 9}}col{{i}} = excluded.col{{i}}, {{end}}payload = excluded.payload;
