-- Ids that no client has had in this run.
\set table mod(:client_id, :tables) + 1
\set from next_key('rows', 0) * :batch
INSERT INTO sbtest:table VALUES {{for i 1 :batch}}{{if :i > 1}},{{end}}(:from+{{i}},:from+{{i}}){{end}} \unit write
