-- All sensors over a stretch of time.
\set from_us random(0, {{newest}}) * :step_us
\set until_us :from_us + :window_us
SELECT count(*), avg(value), max(value) FROM timeseries_readings WHERE at_us >= :from_us AND at_us < :until_us;
