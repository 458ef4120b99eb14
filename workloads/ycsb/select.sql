-- The row of :ycsb_key, all of it or one field; with dataintegrity what comes is checked.
{{if :dataintegrity}}
\set mismatches 0
-- Of a row that is not there nothing is compared.
{{for i 0 (:fieldcount - 1)}}
\set found_{{fieldnameprefix}}{{i}} null
{{end}}
{{end}}
{{if :readallfields}}
SELECT * FROM {{table}} WHERE ycsb_key = :ycsb_key{{lock}}{{got}}
{{for i 0 (:fieldcount - 1)}}{{check}}{{end}}
{{else}}
\set field random(0, :fieldcount - 1)
{{for i 0 (:fieldcount - 1)}}
{{if :i = 0}}\if{{else}}\elif{{end}} :field = {{i}}
SELECT ycsb_key, {{fieldnameprefix}}{{i}} FROM {{table}} WHERE ycsb_key = :ycsb_key{{lock}}{{got}}
{{check}}
{{end}}
\endif
{{end}}
{{if :dataintegrity and :on_mismatch = 'count'}}
\if :mismatches > 0
\set unexpected next_key('unexpected', 1)
\endif
{{end}}
