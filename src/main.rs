//! The `adjutant` binary: hands the arguments to the library and its verdict to the operating system.

use std::process::ExitCode;

fn main() -> ExitCode {
    adjutant::run(std::env::args_os())
}
