//! Provider and ProviderClass.
pub mod backend;

pub use backend::Backend;
