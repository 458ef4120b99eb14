-- The sum of a customer's two accounts.
{{customer}}
BEGIN;
SELECT name FROM smallbank_accounts WHERE custid = :customer;
SELECT bal FROM smallbank_savings WHERE custid = :customer;
SELECT bal FROM smallbank_checking WHERE custid = :customer;
END;
