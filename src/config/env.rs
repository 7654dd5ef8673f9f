//! The only reader of the environment.
