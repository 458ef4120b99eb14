{{include request.sql}}
\set rows {{if :scanlengthdistribution = 'uniform'}}uniform(:minscanlength, :maxscanlength){{elif :generators <> 'exact'}}ycsb_zipfian(:minscanlength, :maxscanlength){{else}}zipfian(:minscanlength, :maxscanlength, 0.99){{end}}
{{if :readallfields}}
SELECT * FROM {{table}} WHERE ycsb_key >= :ycsb_key ORDER BY ycsb_key LIMIT :rows;
{{else}}
\set field random(0, :fieldcount - 1)
{{for i 0 (:fieldcount - 1)}}
{{if :i = 0}}\if{{else}}\elif{{end}} :field = {{i}}
SELECT ycsb_key, {{fieldnameprefix}}{{i}} FROM {{table}} WHERE ycsb_key >= :ycsb_key ORDER BY ycsb_key LIMIT :rows;
{{end}}
\endif
{{end}}
