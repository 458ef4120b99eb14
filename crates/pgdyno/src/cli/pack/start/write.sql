\set id random(1, :rows)
BEGIN;
UPDATE TABLE_NAME SET hits = hits + 1 WHERE id = :id;
END;
