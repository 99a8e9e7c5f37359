//! The only door to files, time and randomness.
