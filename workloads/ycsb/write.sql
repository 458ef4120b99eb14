-- New values for the row of :ycsb_key, all fields or one at random.
{{if :writeallfields}}
{{for i 0 (:fieldcount - 1)}}
\set value{{i}} {{value}}
{{end}}
UPDATE {{table}} SET {{for i 0 (:fieldcount - 1)}}{{if :i > 0}}, {{end}}{{fieldnameprefix}}{{i}} = :value{{i}}{{end}} WHERE ycsb_key = :ycsb_key{{returning}};
{{else}}
\set field random(0, :fieldcount - 1)
{{for i 0 (:fieldcount - 1)}}
{{if :i = 0}}\if{{else}}\elif{{end}} :field = {{i}}
\set value {{value}}
UPDATE {{table}} SET {{fieldnameprefix}}{{i}} = :value WHERE ycsb_key = :ycsb_key{{returning}};
{{end}}
\endif
{{end}}
