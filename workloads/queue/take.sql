-- The job that is taken is locked until the transaction ends; others step over it.
\set taking random(1, 9223372036854775807)
BEGIN;
\set id 'none'
SELECT id FROM queue_jobs ORDER BY added_us, id LIMIT 1 FOR UPDATE SKIP LOCKED \aset
\if :id <> 'none'
DELETE FROM queue_jobs WHERE id = :id;
INSERT INTO queue_taken (taking, id) VALUES (:taking, :id);
\endif
END;
