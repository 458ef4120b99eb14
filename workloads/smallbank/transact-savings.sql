-- Money goes out of savings, if there is enough.
{{customer}}
\set amount random(1, 100)
BEGIN;
SELECT bal AS savings FROM smallbank_savings WHERE custid = :customer \gset
\if :savings >= :amount
UPDATE smallbank_savings SET bal = bal - :amount WHERE custid = :customer;
UPDATE smallbank_accounts SET in_out = in_out - :amount WHERE custid = :customer;
\endif
END;
