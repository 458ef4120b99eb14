\set number next_key('extra', :extra)
INSERT INTO own1 (id, changes, filler) VALUES (:rows + 1 + :number, 0, 'x');
