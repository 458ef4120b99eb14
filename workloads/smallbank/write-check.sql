-- A check is paid from the checking account, with a penalty of 1 when both accounts together have less.
{{customer}}
\set amount random(1, 100)
BEGIN;
SELECT bal AS savings FROM smallbank_savings WHERE custid = :customer \gset
SELECT bal AS checking FROM smallbank_checking WHERE custid = :customer \gset
\set amount case when :savings + :checking < :amount then :amount + 1 else :amount end
UPDATE smallbank_checking SET bal = bal - :amount WHERE custid = :customer;
UPDATE smallbank_accounts SET in_out = in_out - :amount WHERE custid = :customer;
END;
