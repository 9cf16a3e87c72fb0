//! The contract, on one server and on a cluster. `cargo xtask test` starts both.

mod support;

mod single {
    use super::support::RedisHarness;
    goqueue_conformance::suite!(RedisHarness::single("redis"));
}

mod cluster {
    use super::support::RedisHarness;
    goqueue_conformance::suite!(RedisHarness::cluster());
}
