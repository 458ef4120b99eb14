-- By ranges: a batch reads consecutive keys.
{{if not :index_as_pk}}
{{for t 1 (:ind_tablets - 1)}}
\set at{{t}} {{t}} * :tab_rows / :ind_tablets
{{end}}
CREATE INDEX {{table}}_asc_mykey ON {{table}} (mykey ASC){{if :ind_tablets > 1}} SPLIT AT VALUES ({{for t 1 (:ind_tablets - 1)}}{{if :t > 1}}, {{end}}(:at{{t}}){{end}}){{end}};
{{end}}
