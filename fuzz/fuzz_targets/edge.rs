//! Any line that a client can send: the edge reads it or refuses it, and never panics.
#![no_main]

libfuzzer_sys::fuzz_target!(|line: &[u8]| adjutant::fuzzing::edge(line));
