{{for i 0 (:table_count - 1)}}
CREATE TABLE {{table}} (id bigint PRIMARY KEY, balance decimal NOT NULL, payload text NOT NULL, shared_key bigint NOT NULL);
{{end}}
