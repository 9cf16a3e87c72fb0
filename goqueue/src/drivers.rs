//! The drivers that are compiled in.

#[cfg(feature = "memory")]
inventory::submit! {
    goqueue_core::driver::DriverEntry::new(&["memory"], goqueue_memory::connect)
}
