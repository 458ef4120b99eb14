//! Of the verdict as a whole: which share makes a limit.
