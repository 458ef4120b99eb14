-- A primary key of a table that is filled already would be a second copy of it.
{{for i 1 :tables}}
CREATE TABLE sbtest{{i}} (id {{if :auto_inc}}SERIAL{{else}}INT8 NOT NULL{{end}} PRIMARY KEY, k INT8 DEFAULT 0 NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL);
{{end}}
