//! Verdicts on trials as they were observed: what was said wrongly once, and what must be said.

mod clusters;
mod made;
mod verdicts;
mod words;
