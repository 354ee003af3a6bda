//! Pure builders, one object a file, shared by the operator and the installer.
pub mod install;
pub mod labels;
pub mod names;
pub mod pod;
