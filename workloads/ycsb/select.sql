-- The row of :ycsb_key, all of it or one field; with dataintegrity what comes is checked.
{{if :readallfields}}
SELECT * FROM usertable WHERE ycsb_key = :ycsb_key{{lock}}{{got}}
{{for i 0 (:fieldcount - 1)}}{{check}}{{end}}
{{else}}
\set field random(0, :fieldcount - 1)
{{for i 0 (:fieldcount - 1)}}
{{if :i = 0}}\if{{else}}\elif{{end}} :field = {{i}}
SELECT ycsb_key, field{{i}} FROM usertable WHERE ycsb_key = :ycsb_key{{lock}}{{got}}
{{check}}
{{end}}
\endif
{{end}}
