\set id random(1, :conflicts)
\set data random_string(random(1, 100))
INSERT INTO conflict (id, data) VALUES (:id, :data) ON CONFLICT (id) DO UPDATE SET data = excluded.data;
