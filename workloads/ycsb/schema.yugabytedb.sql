-- The table of YCSB, sharded as the parameters say.
{{if :range_keys}}
CREATE TABLE {{table}} (ycsb_key varchar(255) NOT NULL{{for i 0 (:fieldcount - 1)}}, {{fieldnameprefix}}{{i}} text{{end}}, PRIMARY KEY (ycsb_key ASC));
{{else}}
CREATE TABLE {{table}} (ycsb_key varchar(255) NOT NULL{{for i 0 (:fieldcount - 1)}}, {{fieldnameprefix}}{{i}} text{{end}}, PRIMARY KEY (ycsb_key HASH)){{if :splits > 0}} SPLIT INTO :splits TABLETS{{end}};
{{end}}
