-- The table of cockroach's indexes; index number i is of the columns that its two digits name.
CREATE TABLE indexes (key uuid NOT NULL PRIMARY KEY{{for i 0 9}}, col{{i}} bigint NOT NULL{{end}}, payload bytea NOT NULL);
{{for i 0 9}}
{{for j 0 9}}
{{if :i * 10 + :j < :secondary_indexes}}
CREATE {{if :unique_indexes}}UNIQUE {{end}}INDEX idx{{if :i > 0}}{{i}}{{end}}{{j}} ON indexes (col{{i}}{{if :i <> :j}}, col{{j}}{{end}});
{{end}}
{{end}}
{{end}}
