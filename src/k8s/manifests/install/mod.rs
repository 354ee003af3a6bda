//! What the installer applies: [`Install`] says how, [`Install::objects`] builds all of it.
//!
//! The live installation, the dry run and the files under `deploy/` come from this one function.
mod classes;
mod object;
mod options;
mod platform;
mod policies;
mod rights;
mod rules;
mod standalone;
mod stream;
#[cfg(test)]
mod tests;
mod tree;
mod workloads;

pub use object::{Object, Section, Stage};
pub use options::{Install, Invalid};
pub use policies::ALLOWED_IMAGES;
pub use stream::yaml;

impl Install {
    /// Every object, in the order of its application.
    ///
    /// # Errors
    /// None is expected: a type of ours that cannot be written as JSON.
    pub fn objects(&self) -> Result<Vec<Object>, serde_json::Error> {
        let mut objects = platform::objects(self)?;
        objects.extend(policies::objects(self)?);
        objects.extend(rights::objects(self)?);
        objects.extend(workloads::objects(self)?);
        if self.provider_classes {
            objects.extend(classes::objects(self)?);
        }
        Ok(objects)
    }
}
