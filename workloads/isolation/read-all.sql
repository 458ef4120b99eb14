-- Reads every key once: a write that no read shows has no place in the order of its key.
SELECT coalesce(max(k), -1) AS lists FROM isolation_lists \gset
SELECT coalesce(max(k), -1) AS registers FROM isolation_registers \gset
SELECT coalesce(max(k), -1) AS predicates FROM isolation_rows \gset
SELECT coalesce(max(k), -1) AS accounts FROM isolation_accounts \gset
SELECT coalesce(max(k), -1) AS counters FROM isolation_counters \gset
\for k 0 :lists
SELECT v FROM isolation_lists WHERE k = :k;
\observe list :k
\endfor
\for k 0 :registers
SELECT v FROM isolation_registers WHERE k = :k;
\observe read :k
\endfor
\for k 0 :predicates
SELECT v FROM isolation_rows WHERE k = :k;
\observe rows :k
\endfor
\for k 0 :accounts
SELECT v FROM isolation_accounts WHERE k = :k;
\observe list :k
\endfor
\for k 0 :counters
SELECT v FROM isolation_counters WHERE k = :k;
\observe read :k
\endfor
