-- The rollback stands outside the block with EXCEPTION, so that the next try is a transaction of its
-- own. Within the block only a savepoint would be rolled back: the try would keep its snapshot, and
-- above READ COMMITTED fail again for the same reason.
CREATE PROCEDURE pgdyno_simple_update(
  p_aid bigint, p_bid int, p_tid int, p_delta int, max_tries int,
  INOUT retries int, INOUT balance int
) LANGUAGE plpgsql AS $procedure$
BEGIN
  retries := 0;
  LOOP
    BEGIN
      UPDATE pgbench_accounts SET abalance = abalance + p_delta WHERE aid = p_aid;
      SELECT abalance INTO balance FROM pgbench_accounts WHERE aid = p_aid;
      INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
        VALUES (p_tid, p_bid, p_aid, p_delta, CURRENT_TIMESTAMP);
      EXIT;
    EXCEPTION WHEN serialization_failure OR deadlock_detected THEN
      IF retries + 1 >= max_tries THEN
        RAISE;
      END IF;
    END;
    ROLLBACK;
    retries := retries + 1;
  END LOOP;
END
$procedure$;
