-- The tables of `pgbench -i`. Account numbers need 64 bits from scale 20000 on.
\if :scale >= 20000
create table pgbench_history(tid int, bid int, aid bigint, delta int, mtime timestamp, filler char(22));
create table pgbench_accounts(aid bigint not null, bid int, abalance int, filler char(84)) with (fillfactor=:fillfactor);
\else
create table pgbench_history(tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
create table pgbench_accounts(aid int not null, bid int, abalance int, filler char(84)) with (fillfactor=:fillfactor);
\endif
create table pgbench_tellers(tid int not null, bid int, tbalance int, filler char(84)) with (fillfactor=:fillfactor);
create table pgbench_branches(bid int not null, bbalance int, filler char(88)) with (fillfactor=:fillfactor);
