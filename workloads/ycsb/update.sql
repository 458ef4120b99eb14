{{include request.sql}}
{{include write.sql}}
