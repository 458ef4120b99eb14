-- The table of YCSB. Its key comes when the rows are in.
CREATE TABLE {{table}} (ycsb_key varchar(255) NOT NULL{{for i 0 (:fieldcount - 1)}}, {{fieldnameprefix}}{{i}} text{{end}}) WITH (fillfactor = :fillfactor);
