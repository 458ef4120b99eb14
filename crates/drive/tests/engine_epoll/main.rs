//! Those of the engine's tests that lead through sockets once more with epoll, which it uses where
//! there is no io_uring: `support` chooses by this program's name.

// What only the other tests need.
#![allow(dead_code, unused_imports)]

#[path = "../engine/connecting.rs"]
mod connecting;
#[path = "../engine/control.rs"]
mod control;
#[path = "../engine/endpoints.rs"]
mod endpoints;
#[path = "../engine/hostile.rs"]
mod hostile;
#[path = "../engine/modes.rs"]
mod modes;
#[path = "../engine/outages.rs"]
mod outages;
#[path = "../engine/pipelines.rs"]
mod pipelines;
#[path = "../engine/rate.rs"]
mod rate;
#[path = "../engine/retries.rs"]
mod retries;
#[path = "../engine/scripted.rs"]
mod scripted;
#[path = "../engine/sockets.rs"]
mod sockets;
#[path = "../engine/support.rs"]
mod support;
#[path = "../engine/tls.rs"]
mod tls;
