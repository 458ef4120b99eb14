-- A forwarding ends; 31 of 100 are there.
{{number}}
\set sf_type random(1, 4)
\set start_time 8 * random(0, 2)
BEGIN;
SELECT s_id AS found FROM tatp_subscriber WHERE sub_nbr = :sub_nbr \gset
DELETE FROM tatp_call_forwarding WHERE s_id = :found AND sf_type = :sf_type AND start_time = :start_time;
END;
