-- So many rows in one transaction, sent together; the last ones may be fewer.
\set batch next_key('batches', 0)
\startpipeline
\for row 1 {{if :insertcount > 0}}least(:insertbatch, :insertcount - :inserted - :batch * :insertbatch){{else}}:insertbatch{{end}}
\set index next_key('inserted', :recordcount + :inserted{{if :insertcount > 0}}, :insertcount - :inserted{{end}})
\set ycsb_key ycsb_key({{base}} + :index - :recordcount, {{format}}, :zeropadding)
{{for i 0 (:fieldcount - 1)}}
\set value{{i}} {{value}}
{{end}}
INSERT INTO {{table}} (ycsb_key{{for i 0 (:fieldcount - 1)}}, {{fieldnameprefix}}{{i}}{{end}}) VALUES (:ycsb_key{{for i 0 (:fieldcount - 1)}}, :value{{i}}{{end}}) \unit insert
\endfor
\endpipeline
