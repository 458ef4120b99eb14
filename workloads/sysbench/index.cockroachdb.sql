{{for i 1 :tables}}
{{if :create_secondary}}
CREATE INDEX k_{{i}} ON sbtest{{i}} (k);
{{end}}
{{end}}
