{{include request.sql}}
{{include select.sql}}
