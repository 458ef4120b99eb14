-- From one checking account to another, if there is enough.
{{customer}}
\set other random(1, :customers - 1)
\set other case when :other >= :customer then :other + 1 else :other end
\set amount random(1, 100)
BEGIN;
SELECT bal AS checking FROM smallbank_checking WHERE custid = :customer \gset
\if :checking >= :amount
UPDATE smallbank_checking SET bal = bal - :amount WHERE custid = :customer;
UPDATE smallbank_checking SET bal = bal + :amount WHERE custid = :other;
\endif
END;
