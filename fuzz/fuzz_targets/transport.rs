//! The transport accepts or rejects any line of a client, and never panics.
#![no_main]

libfuzzer_sys::fuzz_target!(|line: &[u8]| adjutant::fuzzing::transport(line));
