//! The drivers that are compiled in.

#[cfg(feature = "memory")]
inventory::submit! {
    goqueue_core::driver::DriverEntry::new(&["memory"], goqueue_memory::connect)
}

#[cfg(feature = "memory")]
inventory::submit! {
    goqueue_core::log::LogEntry::new(&["memory"], goqueue_memory::connect_log)
}

#[cfg(feature = "redis")]
inventory::submit! {
    goqueue_core::driver::DriverEntry::new(goqueue_redis::SCHEMES, goqueue_redis::connect)
}

#[cfg(feature = "mysql")]
inventory::submit! {
    goqueue_core::driver::DriverEntry::new(&["mysql"], goqueue_mysql::connect)
}
