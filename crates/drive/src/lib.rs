//! The engine: event loops, clients as state machines, pacing, retries, and what they record.
