INSERT INTO data (filler) VALUES (repeat(' ', :bytes));
