\set from next_key('batches', 1) * :batch
\set end :from + :batch
\set worker :client_id + 1
INSERT INTO queue (ts, id) VALUES {{for i 0 (:batch - 1)}}{{if :i > 0}}, {{end}}(:from::bigint + {{i}}, :worker){{end}} \unit write
DELETE FROM queue WHERE ts < :end \unit delete
