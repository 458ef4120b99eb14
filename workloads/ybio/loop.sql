-- Batches for about a CALL's time. Each of the two results tells of the batches of one operation:
-- their rows, the sum of their latencies and the longest in microseconds; from there on how many took
-- a time t with floor(ln(t) * 50) = 0 (or less), 1, 2…; NULL when there was none. A batch takes until
-- it is committed.
CREATE PROCEDURE pgdyno_{{table}}(
  call_ms int, seed float8, span bigint, batch_size bigint, pct_update int,
  prepared boolean, index_only boolean, notice_every_s int, job bigint,
  INOUT "select" bigint[], INOUT "update" bigint[]
) LANGUAGE plpgsql AS $procedure$
DECLARE
  deadline CONSTANT timestamptz := clock_timestamp() + call_ms * interval '1 millisecond';
  -- The session's work so far: rows, of them updated, batches, largest value, and in microseconds
  -- when it began and when the last notice was.
  before CONSTANT bigint[] := nullif(current_setting('pgdyno.ybio', true), '')::bigint[];
  rows_all bigint := coalesce(before[1], 0);
  rows_updated bigint := coalesce(before[2], 0);
  batches bigint := coalesce(before[3], 0);
  largest bigint := coalesce(before[4], 0);
  began_us bigint := before[5];
  noticed_us bigint := before[6];
  now_us bigint;
  -- By operation: 1 select, 2 update.
  rows_of bigint[] := ARRAY[0, 0];
  sum_of float8[] := ARRAY[0, 0];
  max_of float8[] := ARRAY[0, 0];
  selects bigint[] := array_fill(0::bigint, ARRAY[1101]);
  updated bigint[] := selects;
  -- The present batch.
  operation int;
  low bigint;
  high bigint;
  found bigint;
  value bigint;
  begun timestamptz;
  took float8;
  bucket int;
BEGIN
  PERFORM setseed(seed);
  IF began_us IS NULL THEN
    began_us := date_part('epoch', clock_timestamp()) * 1000000;
    noticed_us := began_us;
  END IF;
  LOOP
    low := trunc(random() * (span - batch_size - 1) + 1);
    high := low + batch_size - 1;
    operation := 1;
    IF pct_update = 100 OR 100 * (rows_updated + 0.5 * batch_size) / (rows_all + batch_size) < pct_update THEN
      operation := 2;
    END IF;
    begun := clock_timestamp();
    {{include batch.sql}}
    COMMIT;
    took := greatest(date_part('epoch', clock_timestamp() - begun) * 1000000, 1);
    bucket := least(floor(ln(took) * 50)::int + 1, 1101);
    rows_of[operation] := rows_of[operation] + found;
    sum_of[operation] := sum_of[operation] + took;
    max_of[operation] := greatest(max_of[operation], took);
    rows_all := rows_all + found;
    batches := batches + 1;
    largest := greatest(largest, value);
    IF operation = 1 THEN
      selects[bucket] := selects[bucket] + 1;
    ELSE
      updated[bucket] := updated[bucket] + 1;
      rows_updated := rows_updated + found;
    END IF;
    IF notice_every_s > 0 THEN
      now_us := date_part('epoch', clock_timestamp()) * 1000000;
      IF now_us >= noticed_us + notice_every_s * 1000000::bigint THEN
        noticed_us := now_us;
        {{include notice.sql}}
      END IF;
    END IF;
    EXIT WHEN clock_timestamp() >= deadline;
  END LOOP;
  PERFORM set_config('pgdyno.ybio', ARRAY[rows_all, rows_updated, batches, largest, began_us, noticed_us]::text, false);
  IF job > 0 AND largest > coalesce(before[4], 0) THEN
    UPDATE benchruns SET max_scratch = greatest(max_scratch, largest) WHERE job_id = job AND end_time IS NULL;
  END IF;
  "select" := CASE WHEN max_of[1] > 0 THEN ARRAY[rows_of[1], sum_of[1]::bigint, max_of[1]::bigint] || selects END;
  "update" := CASE WHEN max_of[2] > 0 THEN ARRAY[rows_of[2], sum_of[2]::bigint, max_of[2]::bigint] || updated END;
END
$procedure$;
