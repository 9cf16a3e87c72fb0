//! What the compiler says of a wrong `#[derive(Job)]`: each message names what was given and what is
//! allowed, and points at it.
//!
//! After a change of the messages: `TRYBUILD=overwrite cargo test -p goqueue --test ui`.

#[test]
fn wrong_attributes_are_compile_errors_that_point_at_them() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
