{{include where-rides-are.sql}}
\set expires random(0, 29)
\set day random(0, 29) - :expires
\set creation_time {{date}} || ' 03:04:05'
\set expiration_time '2019-01-' || lpad(2 + :expires, 2, '0') || ' 03:04:05'
\set description random_string(random(100, 300))
INSERT INTO promo_codes VALUES (gen_random_uuid()::text, :description, :creation_time, :expiration_time, '{{rules}}');
