-- The tables of cockroach's bank, split by hash into as many tablets as there were ranges.
{{for i 0 (:tables - 1)}}
CREATE TABLE {{table}} (id bigint NOT NULL, balance bigint, payload text, PRIMARY KEY (id HASH)) SPLIT INTO :ranges TABLETS;
{{end}}
