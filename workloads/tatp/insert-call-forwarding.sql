-- A new forwarding; 31 of 100 are of a facility that is there, at a time that is free.
{{number}}
\set sf_type random(1, 4)
\set start_time 8 * random(0, 2)
\set end_time random(1, 24)
\set numberx {{digits}}
BEGIN;
SELECT s_id AS found FROM tatp_subscriber WHERE sub_nbr = :sub_nbr \gset
SELECT sf_type FROM tatp_special_facility WHERE s_id = :found;
INSERT INTO tatp_call_forwarding (s_id, sf_type, start_time, end_time, numberx) SELECT s_id, sf_type, :start_time::int, :end_time::int, :numberx::text FROM tatp_special_facility WHERE s_id = :found AND sf_type = :sf_type ON CONFLICT DO NOTHING;
END;
