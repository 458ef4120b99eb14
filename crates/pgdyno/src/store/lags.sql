-- How late a thread's event loop was for answers and deadlines; NULL where too few say, and in trials
-- kept before it was known.

ALTER TABLE thread ADD COLUMN lag_p99_us INTEGER;
