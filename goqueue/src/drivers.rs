//! The drivers that are compiled in.

#[cfg(feature = "memory")]
inventory::submit! {
    goqueue_core::driver::DriverEntry::new(&["memory"], goqueue_memory::connect)
        .with_check(goqueue_memory::check)
}

#[cfg(feature = "memory")]
inventory::submit! {
    goqueue_core::log::LogEntry::new(&["memory"], goqueue_memory::connect_log)
}

#[cfg(feature = "redis")]
inventory::submit! {
    goqueue_core::driver::DriverEntry::new(goqueue_redis::SCHEMES, goqueue_redis::connect)
        .with_check(goqueue_redis::check)
        .with_diagnose(goqueue_redis::diagnose)
}

#[cfg(feature = "mysql")]
inventory::submit! {
    goqueue_core::driver::DriverEntry::new(&["mysql"], goqueue_mysql::connect)
        .with_check(goqueue_mysql::check)
        .with_diagnose(goqueue_mysql::diagnose)
        .with_migrate(goqueue_mysql::migrate_schema)
}

#[cfg(feature = "sqs")]
inventory::submit! {
    goqueue_core::driver::DriverEntry::new(goqueue_sqs::SCHEMES, goqueue_sqs::connect)
        .with_check(goqueue_sqs::check)
        .with_diagnose(goqueue_sqs::diagnose)
}

#[cfg(feature = "mysql")]
inventory::submit! {
    goqueue_core::log::LogEntry::new(&["mysql"], goqueue_mysql::log::connect)
}
