//! Words of the API as flags have them.
use super::error::Usage;
use crate::k8s::crd::Backend;
use crate::k8s::manifests::names::{NO_NAMESPACE, is_label, is_name};
use clap::builder::{PossibleValuesParser, TypedValueParser};

/// Reads one of these words; a wrong one is answered with those there are.
pub(super) fn one_of<T, const N: usize>(all: [T; N], word: fn(T) -> &'static str) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let known = PossibleValuesParser::new(all.map(word));
    known.try_map(move |said| all.into_iter().find(|one| word(*one) == said).ok_or("it is none of these"))
}

/// Refuses a backend that this build does not have.
pub(super) fn compiled(backend: Backend) -> Result<(), Usage> {
    let there: Vec<_> = Backend::all_compiled().map(Backend::as_str).collect();
    if backend.compiled() {
        return Ok(());
    }
    Err(Usage(format!("this build has no {backend}; it has: {}", there.join(", "))))
}

/// Reads a name; one type for all of them, so that each is not a parser of its own.
pub(super) type Reader = fn(&str) -> Result<String, &'static str>;

/// Reads the name of a namespace.
pub(super) const NAMESPACE: Reader = |text| if is_label(text) { Ok(text.into()) } else { Err(NO_NAMESPACE) };

/// Reads the name of a Provider.
pub(super) const PROVIDER: Reader = |text| {
    let wrong = "is no name of a Provider: lower case letters, digits, dashes and dots";
    if is_name(text) { Ok(text.into()) } else { Err(wrong) }
};

/// Reads the address of a Provider: its namespace and its name.
pub(super) const ADDRESS: Reader = |text| {
    let (at, name) = text.split_once('/').ok_or("write it as NAMESPACE/NAME, such as banlieue-system/prod-vc")?;
    NAMESPACE(at).and_then(|_| PROVIDER(name))?;
    Ok(text.into())
};
