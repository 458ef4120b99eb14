{{include where-rides-are.sql}}
\if length(text(:active_rides)) > 37
\set ride substring(text(:active_rides), 1, 36)
\set ride_city elt(int(substring(text(:active_rides), 37, 1)), {{cities}})
\set active_rides substring(text(:active_rides), 38)
\set address {{address}}
UPDATE rides SET end_address = :address, end_time = now() WHERE city = :ride_city AND id = :ride;
\endif
