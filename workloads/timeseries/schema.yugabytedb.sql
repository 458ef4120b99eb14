-- By sensor and time, and by time alone, both in the order of time.
CREATE TABLE timeseries_readings (sensor bigint NOT NULL, at_us bigint NOT NULL, value bigint NOT NULL, PRIMARY KEY (sensor HASH, at_us ASC));
CREATE INDEX timeseries_readings_at ON timeseries_readings (at_us ASC);
