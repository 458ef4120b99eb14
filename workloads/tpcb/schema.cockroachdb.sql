-- The tables of `pgbench -i` with their primary keys, which CockroachDB wants from the start.
\if :scale >= 20000
create table pgbench_history(tid int, bid int, aid bigint, delta int, mtime timestamp, filler char(22));
create table pgbench_accounts(aid bigint not null primary key, bid int, abalance int, filler char(84));
\else
create table pgbench_history(tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
create table pgbench_accounts(aid int not null primary key, bid int, abalance int, filler char(84));
\endif
create table pgbench_tellers(tid int not null primary key, bid int, tbalance int, filler char(84));
create table pgbench_branches(bid int not null primary key, bbalance int, filler char(88));
