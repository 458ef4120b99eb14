CREATE TABLE {{table}} (mykey bigint{{if :index_as_pk}} NOT NULL{{end}}, scratch bigint, filler char({{filler}}));
