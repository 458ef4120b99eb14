CREATE PROCEDURE own_change{{i}}(key bigint, INOUT tried_again bigint) LANGUAGE plpgsql AS $procedure$
BEGIN
  UPDATE own{{i}} SET changes = changes + 1 WHERE id = key;
  tried_again := 3;
END
$procedure$;
