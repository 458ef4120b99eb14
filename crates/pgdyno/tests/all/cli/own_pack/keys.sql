{{for i 1 :tables}}
ALTER TABLE own{{i}} ADD PRIMARY KEY (id);
{{end}}
