      RETURN;
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
