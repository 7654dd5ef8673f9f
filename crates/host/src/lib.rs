//! Infrastructure on the machine: child processes, Git, recordings, watched files, services.

pub mod file_catalogue;
pub mod git;
pub mod process;
pub mod recorder;
pub mod service;
pub mod temporary_folder;
