\set id random(1, :rows)
CALL own_change{{tables}}(:id, 0) \gset
