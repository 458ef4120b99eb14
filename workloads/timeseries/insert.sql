\set number {{number}}
\set sensor :number % :sensors
\set at_us :number * :step_us
\set value :at_us % 997
INSERT INTO timeseries_readings (sensor, at_us, value) VALUES (:sensor, :at_us, :value);
