-- The primary keys are in the schema. Through 20.1 the columns of a foreign key need an index.
\if :foreign_keys
create index pgbench_tellers_bid_idx on pgbench_tellers (bid);
create index pgbench_accounts_bid_idx on pgbench_accounts (bid);
create index pgbench_history_bid_idx on pgbench_history (bid);
create index pgbench_history_tid_idx on pgbench_history (tid);
create index pgbench_history_aid_idx on pgbench_history (aid);
alter table pgbench_tellers add constraint pgbench_tellers_bid_fkey foreign key (bid) references pgbench_branches (bid);
alter table pgbench_accounts add constraint pgbench_accounts_bid_fkey foreign key (bid) references pgbench_branches (bid);
alter table pgbench_history add constraint pgbench_history_bid_fkey foreign key (bid) references pgbench_branches (bid);
alter table pgbench_history add constraint pgbench_history_tid_fkey foreign key (tid) references pgbench_tellers (tid);
alter table pgbench_history add constraint pgbench_history_aid_fkey foreign key (aid) references pgbench_accounts (aid);
\endif
