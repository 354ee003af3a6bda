//! Tests of the core. Read `table` first: it reads as the specification.
mod apply;
mod crash;
mod fixture;
mod numbers;
mod oracle;
mod search;
mod seeded;
mod server;
mod sweep;
mod table;
mod words;
mod world;
