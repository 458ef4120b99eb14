-- Reads all lists in use, upwards or downwards: two readers must not disagree which of two writes came first.
\set down random(0, 1)
BEGIN;
\set first {{first}}
\for i 1 :keys
\set key :first + case when :down = 1 then :keys - :i else :i - 1 end
SELECT v FROM isolation_lists WHERE k = :key;
\observe list :key
\endfor
COMMIT;
