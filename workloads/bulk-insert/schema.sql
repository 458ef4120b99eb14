{{for i 1 :tables}}
CREATE TABLE sbtest{{i}} (id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, PRIMARY KEY (id));
{{end}}
