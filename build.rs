//! Links the program at a fixed address on Linux.
//!
//! A position-independent program of this size has its seventeen thousand pointers put right by the loader at every
//! start, which takes longer than the first answer and dirties memory in every one of the many relays that run at
//! once. The code has no unsafe block of its own; the libraries stay at random addresses.
#![expect(clippy::disallowed_methods, reason = "this is how a build script hears from Cargo")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
