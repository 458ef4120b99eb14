-- Work units for about a CALL's time. Each of the first three results tells of the units of one
-- operation: their rows, the sum of their latencies and the longest in microseconds; from there on
-- how many took a time t with floor(ln(t) * 50) = 0 (or less), 1, 2…; NULL when there was none.
-- A unit that ends a transaction takes until that is committed.
CREATE PROCEDURE pgdyno_{{tab_prefix}}{{i}}(
  session int, sessions int, seed float8, call_ms int, call_units bigint,
  span bigint, work_unit bigint, update_work_unit bigint, updates float8, scans float8,
  hotspot_every bigint, hotspot_offset bigint, hotspot_blocks bigint, hot_table_every bigint,
  think_every bigint, think_min_ms int, think_max_ms int,
  commit_every int, heavy boolean, index_only boolean, max_tries int,
  INOUT "select" bigint[], INOUT "update" bigint[], INOUT scan bigint[], INOUT retries bigint
) LANGUAGE plpgsql AS $procedure$
DECLARE
  deadline CONSTANT timestamptz := clock_timestamp() + call_ms * interval '1 millisecond';
  -- Keys from one update of this session to the next: in between are those of the others.
  stride CONSTANT bigint := update_work_unit * sessions;
  -- By operation: 1 select, 2 update, 3 scan.
  rows_of bigint[] := ARRAY[0, 0, 0];
  sum_of float8[] := ARRAY[0, 0, 0];
  max_of float8[] := ARRAY[0, 0, 0];
  selects bigint[] := array_fill(0::bigint, ARRAY[1101]);
  updated bigint[] := selects;
  scanned bigint[] := selects;
  done bigint := 0;
  tries int := 1;
  has_failed boolean;
  -- The counters before the present transaction.
  old_rows bigint[];
  old_sum float8[];
  old_max float8[];
  old_selects bigint[];
  old_updated bigint[];
  old_scanned bigint[];
  -- The present transaction and unit.
  units int;
  dice float8;
  operation int;
  place int;
  before bigint;
  among bigint;
  first bigint;
  low bigint;
  high bigint;
  found bigint;
  total numeric;
  begun timestamptz;
  took float8;
  bucket int;
