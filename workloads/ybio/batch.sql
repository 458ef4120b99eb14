{{for only 0 1}}
{{if :only = 0}}IF NOT index_only THEN{{else}}ELSE{{end}}
  IF operation = 1 AND prepared THEN
    SELECT count(*), max({{if :only = 1}}mykey{{else}}scratch{{end}}) INTO found, value FROM {{table}} WHERE mykey BETWEEN low AND high;
  ELSIF operation = 1 THEN
    EXECUTE 'SELECT count(*), max({{if :only = 1}}mykey{{else}}scratch{{end}}) FROM {{table}} WHERE mykey BETWEEN $1 AND $2' INTO found, value USING low, high;
  ELSIF prepared THEN
    WITH changed AS (UPDATE {{table}} SET {{if :only = 1}}mykey = mykey{{else}}scratch = scratch + 1{{end}} WHERE mykey BETWEEN low AND high RETURNING {{if :only = 1}}mykey{{else}}scratch{{end}} AS new)
    SELECT count(*), max(new) INTO found, value FROM changed;
  ELSE
    EXECUTE 'WITH changed AS (UPDATE {{table}} SET {{if :only = 1}}mykey = mykey{{else}}scratch = scratch + 1{{end}} WHERE mykey BETWEEN $1 AND $2 RETURNING {{if :only = 1}}mykey{{else}}scratch{{end}} AS new) SELECT count(*), max(new) FROM changed' INTO found, value USING low, high;
  END IF;
{{end}}
END IF;
