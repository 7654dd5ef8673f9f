//! Infrastructure on the machine: child processes, Git, the disk, recordings, watched files, services.

pub mod disk;
pub mod file_catalogue;
pub mod git;
pub mod machine;
pub mod network_proxy;
pub mod process;
pub mod recorder;
pub mod service;
mod short_path;
pub mod temporary_folder;
