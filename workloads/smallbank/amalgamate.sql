-- All of one customer's money goes to another one's checking account.
{{customer}}
\set other random(1, :customers - 1)
\set other case when :other >= :customer then :other + 1 else :other end
BEGIN;
SELECT bal AS savings FROM smallbank_savings WHERE custid = :customer \gset
SELECT bal AS checking FROM smallbank_checking WHERE custid = :customer \gset
UPDATE smallbank_savings SET bal = bal - :savings WHERE custid = :customer;
UPDATE smallbank_checking SET bal = bal - :checking WHERE custid = :customer;
UPDATE smallbank_checking SET bal = bal + :savings + :checking WHERE custid = :other;
END;
