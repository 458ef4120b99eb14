place := {{i}};
IF hot_table_every > 0 AND random() * hot_table_every < 1 THEN
  place := 1;
END IF;
before := 0;
among := span;
IF hotspot_every > 0 AND random() * hotspot_every < 1 THEN
  before := hotspot_offset;
  among := hotspot_blocks;
END IF;
dice := random();
IF dice < updates THEN
  operation := 2;
  first := (before + stride - 1) / stride;
  low := ((first + floor(random() * ((before + among) / stride - first))::bigint) * sessions + session)
    * update_work_unit + 1;
  high := low + update_work_unit - 1;
ELSIF dice < updates + scans THEN
  operation := 3;
ELSE
  operation := 1;
  low := before + 1 + floor(random() * (among - work_unit + 1))::bigint;
  high := low + work_unit - 1;
END IF;
begun := clock_timestamp();
IF operation = 3 THEN
  SELECT count(*), sum(scratch) INTO found, total FROM {{tab_prefix}}_scan;
{{if :i > 1}}
ELSIF place = 1 THEN
  {{for t 1 1}}{{include statement.sql}}{{end}}
{{end}}
ELSE
  {{for t :i :i}}{{include statement.sql}}{{end}}
END IF;
