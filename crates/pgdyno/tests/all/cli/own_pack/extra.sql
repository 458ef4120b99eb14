SELECT 1 FROM own1 WHERE id = :rows + 1 + :number;
