-- A table without a primary key cannot get one later without being copied.
{{for i 1 :tables}}
CREATE TABLE sbtest{{i}} (id {{if :auto_inc}}SERIAL{{else}}INTEGER NOT NULL{{end}}, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id));
{{end}}
