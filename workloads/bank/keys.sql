-- Building an index once is faster than growing it.
{{for i 0 (:tables - 1)}}
ALTER TABLE {{table}} ADD PRIMARY KEY (id);
{{end}}
