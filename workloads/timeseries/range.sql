-- One sensor over ten such stretches.
\set sensor random(0, :sensors - 1)
\set from_us random(0, {{newest}}) * :step_us
\set until_us :from_us + 10 * :window_us
SELECT at_us, value FROM timeseries_readings WHERE sensor = :sensor AND at_us >= :from_us AND at_us < :until_us ORDER BY at_us;
