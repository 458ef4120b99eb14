{{for i 1 :tables}}
CREATE TABLE own{{i}} (id bigint NOT NULL, changes bigint, twice1 bigint, twice2 bigint, filler char({{wide}})) WITH (fillfactor = 10);
{{end}}
CREATE TABLE own_seen (what text);
CREATE TABLE own_given (id bigint NOT NULL, what text, twice bigint);
