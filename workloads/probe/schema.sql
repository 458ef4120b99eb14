CREATE TABLE pgdyno_probe(id int PRIMARY KEY, changes bigint NOT NULL);
