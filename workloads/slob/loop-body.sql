BEGIN
  retries := 0;
  PERFORM setseed(seed);
  LOOP
    units := commit_every;
    IF call_units > 0 THEN
      units := least(units, call_units - done);
    END IF;
    IF NOT is_protected THEN
      FOR unit IN 1..units LOOP
        {{include unit.sql}}
        IF unit < units THEN
          {{include book.sql}}
        END IF;
      END LOOP;
    ELSE
      old_rows := rows_of; old_sum := sum_of; old_max := max_of;
      old_selects := selects; old_updated := updated; old_scanned := scanned;
      has_failed := false;
      BEGIN
        FOR unit IN 1..units LOOP
          {{include unit.sql}}
          IF unit < units THEN
            {{include book.sql}}
          END IF;
        END LOOP;
      EXCEPTION WHEN serialization_failure OR deadlock_detected THEN
        IF tries >= max_tries THEN
          RAISE;
        END IF;
        has_failed := true;
      END;
      IF has_failed THEN
        -- Outside the block, so that the next try is a transaction of its own.
        ROLLBACK;
        rows_of := old_rows; sum_of := old_sum; max_of := old_max;
        selects := old_selects; updated := old_updated; scanned := old_scanned;
        tries := tries + 1;
        retries := retries + 1;
        CONTINUE;
      END IF;
      tries := 1;
    END IF;
    COMMIT;
    {{include book.sql}}
    done := done + units;
    IF think_every > 0 AND random() * think_every < 1 THEN
      PERFORM pg_sleep((think_min_ms + random() * (think_max_ms - think_min_ms)) / 1000);
    END IF;
    EXIT WHEN done = call_units;
    EXIT WHEN call_units = 0 AND clock_timestamp() >= deadline;
  END LOOP;
  "select" := CASE WHEN max_of[1] > 0 THEN ARRAY[rows_of[1], sum_of[1]::bigint, max_of[1]::bigint] || selects END;
  "update" := CASE WHEN max_of[2] > 0 THEN ARRAY[rows_of[2], sum_of[2]::bigint, max_of[2]::bigint] || updated END;
  scan := CASE WHEN max_of[3] > 0 THEN ARRAY[rows_of[3], sum_of[3]::bigint, max_of[3]::bigint] || scanned END;
END
$procedure$;
