took := date_part('epoch', clock_timestamp() - begun) * 1000000;
-- No clock tells less.
took := greatest(took, 1);
bucket := least(floor(ln(took) * 50)::int + 1, 1101);
rows_of[operation] := rows_of[operation] + found;
sum_of[operation] := sum_of[operation] + took;
max_of[operation] := greatest(max_of[operation], took);
IF operation = 1 THEN
  selects[bucket] := selects[bucket] + 1;
ELSIF operation = 2 THEN
  updated[bucket] := updated[bucket] + 1;
ELSE
  scanned[bucket] := scanned[bucket] + 1;
END IF;
