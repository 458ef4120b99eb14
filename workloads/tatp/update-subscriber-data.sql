-- A bit and a facility's data; 62.5 of 100 subscribers have the facility, the others' bit stays as it was.
{{subscriber}}
\set sf_type random(1, 4)
\set bit random(0, 1)
\set data_a random(0, 255)
\set found 0
BEGIN;
UPDATE tatp_subscriber SET bit_1 = :bit WHERE s_id = :s_id;
UPDATE tatp_special_facility SET data_a = :data_a WHERE s_id = :s_id AND sf_type = :sf_type RETURNING 1 AS found \aset
\if :found = 1
COMMIT;
\else
ROLLBACK;
\endif
