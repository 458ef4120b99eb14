-- Building an index once is faster than growing it.
ALTER TABLE usertable ADD PRIMARY KEY (ycsb_key);
