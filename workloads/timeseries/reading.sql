-- Whether reading number :number is there.
SELECT 1 FROM timeseries_readings WHERE sensor = :number % :sensors AND at_us = :number * :step_us;
