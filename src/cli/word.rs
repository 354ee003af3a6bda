//! Words of the API as flags have them.
use clap::builder::{PossibleValuesParser, TypedValueParser};

/// Reads one of these words; a wrong one is answered with those there are.
pub(super) fn one_of<T, const N: usize>(all: [T; N], word: fn(T) -> &'static str) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let known = PossibleValuesParser::new(all.map(word));
    known.try_map(move |said| all.into_iter().find(|one| word(*one) == said).ok_or("it is none of these"))
}
