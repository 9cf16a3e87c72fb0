//! Where a panic happened is only known to the panic hook, which runs before the unwinding.

use std::{
    backtrace::Backtrace,
    cell::{Cell, RefCell},
    marker::PhantomData,
    panic,
    sync::Once,
};

/// Where a panic happened.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) location: String,
    pub(super) backtrace: Backtrace,
}

thread_local! {
    static IS_WATCHED: Cell<bool> = const { Cell::new(false) };
    static LAST: RefCell<Option<Place>> = const { RefCell::new(None) };
}

/// Puts a hook in front of the one that is there, which is called as before.
pub(super) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if IS_WATCHED.get() {
                let location = info
                    .location()
                    .map_or_else(String::new, ToString::to_string);
                let backtrace = Backtrace::force_capture();
                LAST.set(Some(Place {
                    location,
                    backtrace,
                }));
            }
            before(info);
        }));
    });
}

/// While it lives, panics of this thread are taken down.
pub(super) struct Watching {
    was_watched: bool,
    /// It is about the thread it was made on.
    _here: PhantomData<*const ()>,
}

pub(super) fn watch() -> Watching {
    Watching {
        was_watched: IS_WATCHED.replace(true),
        _here: PhantomData,
    }
}

impl Watching {
    /// The last panic's place, if there was a panic.
    pub(super) fn end(self) -> Option<Place> {
        LAST.take()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        IS_WATCHED.set(self.was_watched);
    }
}
