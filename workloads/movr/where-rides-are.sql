-- Where the first ten of the client's rides are: each is its id and the number of its city.
\for i 1 least(10, length(text(:active_rides)) / 37)
\set ride substring(text(:active_rides), (:i - 1) * 37 + 1, 36)
\set ride_city elt(int(substring(text(:active_rides), :i * 37, 1)), {{cities}})
\set lat double(random(-180, 179))
\set long double(random(-90, 89))
INSERT INTO vehicle_location_histories VALUES (:ride_city, :ride, now(), :lat, :long) ON CONFLICT (city, ride_id, "timestamp") DO UPDATE SET lat = excluded.lat, long = excluded.long;
\endfor
{{any_city}}
