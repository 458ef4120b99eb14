-- Looks at all accounts of a bank. Whoever sees one side of a transfer and not the other sees another sum than 0.
BEGIN;
\set bank {{bank}}
\for i 1 :keys
\set key :bank * :keys + :i - 1
SELECT v, balance FROM isolation_accounts WHERE k = :key;
\observe list :key
\endfor
COMMIT;
