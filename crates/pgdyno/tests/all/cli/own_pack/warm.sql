INSERT INTO own_seen VALUES ('warmed up with {{rows}}');
