{{include points.sql}}
