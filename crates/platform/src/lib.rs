//! What depends on the operating system: readiness, clocks, users, child processes, file systems.
