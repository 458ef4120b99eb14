//! The frontend side of PostgreSQL's protocol 3.0 as bytes in, events out. No sockets, no files.
