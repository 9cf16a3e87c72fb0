use std::{
    collections::HashSet,
    net::{Ipv4Addr, TcpListener},
    sync::{Mutex, PoisonError},
};

/// The ports that may be handed out end here, so that the one ten thousand above, which the node of
/// a Redis cluster takes as well, exists.
const END: u16 = 55_000;

static HANDED_OUT: Mutex<Option<HashSet<u16>>> = Mutex::new(None);

/// A port of 127.0.0.1 below 55,000 that nobody listens on, and that this process has not been given
/// before. Another process may still take it before the caller does.
///
/// # Panics
/// When the system has no port left.
#[must_use]
pub fn free_port() -> u16 {
    let mut handed_out = HANDED_OUT.lock().unwrap_or_else(PoisonError::into_inner);
    let handed_out = handed_out.get_or_insert_default();
    loop {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("the system has a port");
        let address = listener.local_addr().expect("a listener has an address");
        if address.port() < END && handed_out.insert(address.port()) {
            return address.port();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_port_is_free_and_new() {
        let ports: HashSet<u16> = (0..50).map(|_| free_port()).collect();
        assert_eq!(ports.len(), 50);
        for port in ports {
            assert!(port < END);
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        }
    }
}
