-- What is there from earlier would be read, and nobody knows who wrote it.
TRUNCATE isolation_lists;
TRUNCATE isolation_registers;
TRUNCATE isolation_rows;
TRUNCATE isolation_accounts;
TRUNCATE isolation_counters;
