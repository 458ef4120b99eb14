{{include where-rides-are.sql}}
\set name {{name}}
\set address {{address}}
\set card {{card}}
INSERT INTO users VALUES (gen_random_uuid(), :city, :name, :address, :card);
