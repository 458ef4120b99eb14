-- Sharded by hashes of hidden keys; the range-sharded index is what is read in order.
{{for i 1 :schemas}}
CREATE TABLE {{tab_prefix}}{{i}} (mykey bigint NOT NULL, scratch bigint NOT NULL, filler varchar({{filler}}) NOT NULL{{if :index_as_pk}}, PRIMARY KEY (mykey ASC){{end}}){{if :tab_tablets > 0 and not :index_as_pk}} SPLIT INTO {{tab_tablets}} TABLETS{{end}};
{{end}}
{{if :scan_blocks > 0}}
CREATE TABLE {{tab_prefix}}_scan (scratch bigint NOT NULL, filler varchar({{filler}}) NOT NULL);
{{end}}
{{if :base}}
CREATE TABLE {{tab_prefix}}_base (mykey bigint NOT NULL, scratch bigint NOT NULL, filler varchar({{filler}}) NOT NULL);
{{end}}
