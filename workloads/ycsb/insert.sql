-- Others may read the row once this is committed.
\set index next_key('inserted', :recordcount + :inserted{{if :insertcount > 0}}, :insertcount - :inserted{{end}})
\set ycsb_key ycsb_key({{base}} + :index - :recordcount, {{format}}, :zeropadding)
{{for i 0 (:fieldcount - 1)}}
\set value{{i}} {{value}}
{{end}}
INSERT INTO {{table}} (ycsb_key{{for i 0 (:fieldcount - 1)}}, {{fieldnameprefix}}{{i}}{{end}}) VALUES (:ycsb_key{{for i 0 (:fieldcount - 1)}}, :value{{i}}{{end}});
