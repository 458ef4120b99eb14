CREATE TABLE conflict (id bigint NOT NULL PRIMARY KEY, data text NOT NULL);
