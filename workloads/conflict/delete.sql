\set id random(1, :conflicts)
DELETE FROM conflict WHERE id = :id;
