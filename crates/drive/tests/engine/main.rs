//! The engine against a real PostgreSQL. One program, so that all tests share one server. The engine
//! chooses how it waits for sockets: io_uring where there is one. `engine_epoll` tries the other.

mod blocks;
mod client_time;
mod commit;
mod connecting;
mod control;
mod crew;
mod endpoints;
mod ends;
mod failback;
mod failed;
mod hostile;
mod lags;
mod language;
mod log;
mod meta;
mod modes;
mod newcomers;
mod outages;
mod pipelines;
mod places;
mod policies;
mod rate;
mod retries;
mod same_statements;
mod scripted;
mod sockets;
mod support;
mod timeouts;
mod tls;
mod units;
mod warmup;
mod words;
