INSERT INTO own_seen VALUES (current_setting('work_mem'));
