//! What the tests share: a real PostgreSQL, stock pgbench, recording proxies, skips that are counted.
