-- With this fill factor each row has a block to itself.
{{for i 1 :schemas}}
CREATE TABLE {{tab_prefix}}{{i}} (mykey bigint NOT NULL, scratch bigint NOT NULL, filler char({{filler}}) NOT NULL) WITH (fillfactor = 10);
{{end}}
{{if :scan_blocks > 0}}
CREATE TABLE {{tab_prefix}}_scan (scratch bigint NOT NULL, filler char({{filler}}) NOT NULL) WITH (fillfactor = 10);
{{end}}
{{if :base}}
CREATE TABLE {{tab_prefix}}_base (mykey bigint NOT NULL, scratch bigint NOT NULL, filler char({{filler}}) NOT NULL);
{{end}}
