//! The engine's tests of sockets, TLS and connecting once more with epoll, which it uses where there is no
//! io_uring: `support` chooses by this program's name. The code above the sockets does not know which it
//! is; `make test-long PART=epoll` runs all of them.

// What only the other tests need.
#![allow(dead_code, unused_imports)]

#[path = "../engine/connecting.rs"]
mod connecting;
#[path = "../engine/hostile.rs"]
mod hostile;
#[path = "../engine/pipelines.rs"]
mod pipelines;
#[path = "../engine/sockets.rs"]
mod sockets;
#[path = "../engine/support.rs"]
mod support;
#[path = "../engine/tls.rs"]
mod tls;
