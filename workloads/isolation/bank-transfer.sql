-- Money moves between two accounts of a bank, whose balances sum up to 0. Each account keeps a list of its transfers.
\set low random(0, :keys - 2)
\set high random(:low + 1, :keys - 1)
\set amount random(-100, 100)
\set debit 0 - :amount
BEGIN;
\set bank {{bank}}
-- A try that is repeated writes another value: it names the transfer.
\set value fresh('values', 1)
-- Upwards, so that two transfers do not wait for each other in a circle.
\set from :bank * :keys + :low
\set to :bank * :keys + :high
INSERT INTO isolation_accounts (k, balance, v) VALUES (:from, :debit, (:value)::text) ON CONFLICT (k) DO UPDATE SET balance = isolation_accounts.balance + excluded.balance, v = isolation_accounts.v || ',' || excluded.v;
\observe append :from :value
INSERT INTO isolation_accounts (k, balance, v) VALUES (:to, :amount, (:value)::text) ON CONFLICT (k) DO UPDATE SET balance = isolation_accounts.balance + excluded.balance, v = isolation_accounts.v || ',' || excluded.v;
\observe append :to :value
COMMIT;
