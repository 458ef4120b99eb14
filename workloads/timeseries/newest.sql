-- The newest reading of a sensor.
\set sensor random(0, :sensors - 1)
SELECT at_us, value FROM timeseries_readings WHERE sensor = :sensor ORDER BY at_us DESC LIMIT 1;
