-- The tables of `pgbench -i` with their primary keys, sharded as the parameters say.
\if :scale >= 20000
\if :tablets > 0
create table pgbench_history(tid int, bid int, aid bigint, delta int, mtime timestamp, filler char(22)) split into :tablets tablets;
create table pgbench_accounts(aid bigint not null, bid int, abalance int, filler char(84), primary key (aid hash)) split into :tablets tablets;
\elif :range_keys
create table pgbench_history(tid int, bid int, aid bigint, delta int, mtime timestamp, filler char(22));
create table pgbench_accounts(aid bigint not null, bid int, abalance int, filler char(84), primary key (aid asc));
\else
create table pgbench_history(tid int, bid int, aid bigint, delta int, mtime timestamp, filler char(22));
create table pgbench_accounts(aid bigint not null, bid int, abalance int, filler char(84), primary key (aid hash));
\endif
\else
\if :tablets > 0
create table pgbench_history(tid int, bid int, aid int, delta int, mtime timestamp, filler char(22)) split into :tablets tablets;
create table pgbench_accounts(aid int not null, bid int, abalance int, filler char(84), primary key (aid hash)) split into :tablets tablets;
\elif :range_keys
create table pgbench_history(tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
create table pgbench_accounts(aid int not null, bid int, abalance int, filler char(84), primary key (aid asc));
\else
create table pgbench_history(tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
create table pgbench_accounts(aid int not null, bid int, abalance int, filler char(84), primary key (aid hash));
\endif
\endif
\if :range_keys
create table pgbench_tellers(tid int not null, bid int, tbalance int, filler char(84), primary key (tid asc));
create table pgbench_branches(bid int not null, bbalance int, filler char(88), primary key (bid asc));
\else
create table pgbench_tellers(tid int not null, bid int, tbalance int, filler char(84), primary key (tid hash));
create table pgbench_branches(bid int not null, bbalance int, filler char(88), primary key (bid hash));
\endif
