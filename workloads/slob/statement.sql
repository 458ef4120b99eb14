IF operation = 2 THEN
  IF heavy THEN
    UPDATE {{tab_prefix}}{{t}} SET scratch = scratch + 1, filler = overlay(filler PLACING lpad((scratch + 1)::text, 16, '0') FROM 1) WHERE mykey BETWEEN low AND high;
  ELSE
    UPDATE {{tab_prefix}}{{t}} SET scratch = scratch + 1 WHERE mykey BETWEEN low AND high;
  END IF;
  GET DIAGNOSTICS found = ROW_COUNT;
ELSIF index_only THEN
  SELECT count(*), sum(mykey) INTO found, total FROM {{tab_prefix}}{{t}} WHERE mykey BETWEEN low AND high;
ELSE
  SELECT count(*), sum(scratch) INTO found, total FROM {{tab_prefix}}{{t}} WHERE mykey BETWEEN low AND high;
END IF;
