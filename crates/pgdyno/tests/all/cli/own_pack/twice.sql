SELECT coalesce(sum(twice1 - 2 * id - 1), 0)::numeric(10, 2) FROM own1 WHERE id <= {{rows}}
