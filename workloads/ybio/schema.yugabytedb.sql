-- Sharded by hashes of hidden keys; the range-sharded index is what is read in order.
CREATE TABLE {{table}} (mykey bigint, scratch bigint, filler char({{filler}}){{if :index_as_pk}}, CONSTRAINT {{table}}_pk_mykey PRIMARY KEY (mykey ASC){{end}}){{if :tab_tablets > 0 and not :index_as_pk}} SPLIT INTO {{tab_tablets}} TABLETS{{end}};
