//! Tests of the core. Read `table` first: it reads as the specification.
mod crash;
mod fixture;
mod model;
mod oracle;
mod search;
mod seeded;
mod sweep;
mod table;
