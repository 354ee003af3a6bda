//! What the live suites share.
//!
//! Each suite is a program: [`Lab`](lab::Lab) makes its one stage at the first use and gives each test its turn. [`hand`]
//! is the product's program as a person runs it, [`operator`] a role as a process, [`grants`] what each role is granted, [`deploy`] the files under `deploy/`, [`objects`] what tests make, and [`until`] a wait for
//! what no single watch tells. [`stage`], [`place`] and [`workload`] are a cluster on whose node the product runs, a namespace
//! for one test, and the five objects of a Provider.
pub mod deploy;
pub mod grants;
pub mod hand;
pub mod lab;
pub mod objects;
pub mod operator;
pub mod place;
pub mod stage;
pub mod until;
pub mod workload;
