{{include where-rides-are.sql}}
{{any_user}}
{{any_vehicle}}
\set address {{address}}
\set revenue random(0, 99)
INSERT INTO rides VALUES (gen_random_uuid(), :city, :city, :user_id, :vehicle_id, :address, NULL, now(), NULL, :revenue) RETURNING id AS ride \gset
\if length(text(:active_rides)) < 3700
\set active_rides text(:active_rides) || text(:ride) || :city_number
\endif
