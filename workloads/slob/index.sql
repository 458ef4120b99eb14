{{for i 1 :schemas}}
{{if :index_as_pk}}
ALTER TABLE {{tab_prefix}}{{i}} ADD PRIMARY KEY (mykey);
{{else}}
CREATE INDEX {{tab_prefix}}{{i}}_mykey ON {{tab_prefix}}{{i}} (mykey);
{{end}}
{{end}}
