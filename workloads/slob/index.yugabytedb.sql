-- By ranges: units read consecutive keys.
{{if not :index_as_pk}}
{{for t 1 (:ind_tablets - 1)}}
\set at{{t}} {{t}} * :scale / :ind_tablets + 1
{{end}}
{{for i 1 :schemas}}
CREATE INDEX {{tab_prefix}}{{i}}_mykey ON {{tab_prefix}}{{i}} (mykey ASC){{if :ind_tablets > 1}} SPLIT AT VALUES ({{for t 1 (:ind_tablets - 1)}}{{if :t > 1}}, {{end}}(:at{{t}}){{end}}){{end}};
{{end}}
{{end}}
