-- New values for the row of :ycsb_key, all fields or one at random.
{{if :writeallfields}}
{{for i 0 (:fieldcount - 1)}}
\set value{{i}} {{value}}
{{end}}
UPDATE usertable SET {{for i 0 (:fieldcount - 1)}}{{if :i > 0}}, {{end}}field{{i}} = :value{{i}}{{end}} WHERE ycsb_key = :ycsb_key{{returning}};
{{else}}
\set field random(0, :fieldcount - 1)
{{for i 0 (:fieldcount - 1)}}
{{if :i = 0}}\if{{else}}\elif{{end}} :field = {{i}}
\set value {{value}}
UPDATE usertable SET field{{i}} = :value WHERE ycsb_key = :ycsb_key{{returning}};
{{end}}
\endif
{{end}}
