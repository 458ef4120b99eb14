-- The transaction in a procedure on the server, which tries it up to ten times and tells how often it
-- had to begin again. What fails when it is committed comes to the client.
\set aid random(1, 100000 * :scale)
\set bid random(1, 1 * :scale)
\set tid random(1, 10 * :scale)
\set delta random(-5000, 5000)
CALL pgdyno_tpcb(:aid, :bid, :tid, :delta, 10, 0, 0) \gset
