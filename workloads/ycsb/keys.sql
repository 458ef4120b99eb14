-- Building an index once is faster than growing it.
ALTER TABLE {{table}} ADD PRIMARY KEY (ycsb_key);
