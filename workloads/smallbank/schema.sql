-- SmallBank's three tables. in_out is what went in and out of a customer's accounts from outside: with it
-- the sums can be checked.
CREATE TABLE smallbank_accounts (custid bigint NOT NULL PRIMARY KEY, name text, in_out bigint NOT NULL);
CREATE TABLE smallbank_savings (custid bigint NOT NULL PRIMARY KEY, bal bigint NOT NULL);
CREATE TABLE smallbank_checking (custid bigint NOT NULL PRIMARY KEY, bal bigint NOT NULL);
