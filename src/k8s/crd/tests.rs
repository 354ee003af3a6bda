//! Every rule with values that pass and values that do not, and what holds for the whole schema.
#![allow(clippy::unwrap_used)]
mod rules;
mod shape;
