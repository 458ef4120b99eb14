-- In ybio's form; a rate above 999999 is written out.
IF rows_all > 0 THEN
  RAISE NOTICE '% rows/s on {{table}}, job: % batch#: %, total: % rows read, % % updated, last: % rows between  % and %',
    lpad(to_char(round(rows_all * 1000000.0 / greatest(now_us - began_us, 1)), 'FM999999999999'), 7),
    to_char(job, '99999'), to_char(batches, '9999999'), to_char(rows_all, '99999999999'),
    to_char(100.0 * rows_updated / rows_all, '999D9'), '%', found, high, low;
ELSE
  RAISE NOTICE 'No rows found where mykey between % and % --> tab_rows should match the one used at setup()', low, high;
END IF;
