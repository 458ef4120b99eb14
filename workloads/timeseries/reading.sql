-- Whether the reading is there that a run would have added as number :number.
SELECT 1 FROM timeseries_readings WHERE sensor = (:readings + :number) % :sensors AND at_us = (:readings + :number) * :step_us;
