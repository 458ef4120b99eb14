-- The tables of cockroach's bank, with its 64-bit integers. Their keys come when the rows are in.
{{for i 0 (:tables - 1)}}
CREATE TABLE {{table}} (id bigint NOT NULL, balance bigint, payload text);
{{end}}
