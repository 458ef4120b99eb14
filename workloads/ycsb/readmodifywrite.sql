{{include request.sql}}
{{if :rmw = 'one'}}
{{include write.sql}}
{{elif :rmw = 'statements'}}
{{include select.sql}}
{{include write.sql}}
{{else}}
BEGIN;
{{include select.sql}}
{{include write.sql}}
END;
{{end}}
