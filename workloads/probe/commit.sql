\set id random(1, 1000)
UPDATE pgdyno_probe SET changes = changes + 1 WHERE id = :id;
