-- The same session reads three lists, in one statement; where the run has endpoints of the role reads, there.
\set one {{first}} + random(0, :keys - 1)
\set two {{first}} + random(0, :keys - 1)
\set three {{first}} + random(0, :keys - 1)
SELECT (SELECT v FROM isolation_lists WHERE k = :one), (SELECT v FROM isolation_lists WHERE k = :two), (SELECT v FROM isolation_lists WHERE k = :three);
\observe list :one
\observe list :two
\observe list :three
