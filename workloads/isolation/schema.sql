-- Keys with a list, a register, rows, an account or a counter each. All tables are empty at the beginning of a history.
CREATE TABLE isolation_lists (k bigint NOT NULL PRIMARY KEY, v text NOT NULL);
CREATE TABLE isolation_registers (k bigint NOT NULL PRIMARY KEY, v bigint NOT NULL);
CREATE TABLE isolation_rows (k bigint NOT NULL, v bigint NOT NULL, PRIMARY KEY (k, v));
CREATE TABLE isolation_accounts (k bigint NOT NULL PRIMARY KEY, balance bigint NOT NULL, v text NOT NULL);
CREATE TABLE isolation_counters (k bigint NOT NULL PRIMARY KEY, v bigint NOT NULL, n bigint NOT NULL);
