-- Money comes in.
{{customer}}
\set amount random(1, 100)
BEGIN;
UPDATE smallbank_accounts SET in_out = in_out + :amount WHERE custid = :customer;
UPDATE smallbank_checking SET bal = bal + :amount WHERE custid = :customer;
END;
