//! A PostgreSQL server of pgdyno's own: found or fetched, started, and never left behind.
