-- The index is made with the table: CockroachDB fills both at once.
{{for i 1 :schemas}}
CREATE TABLE {{tab_prefix}}{{i}} (mykey bigint NOT NULL, scratch bigint NOT NULL, filler varchar({{filler}}) NOT NULL, {{if :index_as_pk}}PRIMARY KEY{{else}}INDEX {{tab_prefix}}{{i}}_mykey{{end}} (mykey));
{{end}}
{{if :scan_blocks > 0}}
CREATE TABLE {{tab_prefix}}_scan (scratch bigint NOT NULL, filler varchar({{filler}}) NOT NULL);
{{end}}
{{if :base}}
CREATE TABLE {{tab_prefix}}_base (mykey bigint NOT NULL, scratch bigint NOT NULL, filler varchar({{filler}}) NOT NULL);
{{end}}
