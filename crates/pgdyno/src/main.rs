//! pgdyno: loads, drives, watches, keeps and explains databases that speak PostgreSQL's protocol.

fn main() {}
