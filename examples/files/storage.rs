//! The place that the texts come from. It stands for something remote: slow, and busy at times.

use std::{io, path::Path, time::Duration};

use tokio::time::sleep;

/// Reads files, and refuses some of them at first. Which ones depends on their names alone, so
/// that every run of the example shows the same.
#[derive(Debug)]
pub(crate) struct Storage;

impl Storage {
    /// Reads a whole file.
    ///
    /// # Errors
    /// That the storage is busy, on the first attempts at some files; otherwise what the file
    /// system says.
    pub(crate) async fn read(&self, path: &Path, attempt: u32) -> io::Result<Vec<u8>> {
        let mood = mood(path);
        sleep(Duration::from_millis(60 + 15 * u64::from(mood % 16))).await;
        let refusals = mood % 13;
        if refusals <= 3 && attempt <= refusals {
            return Err(io::Error::other("the storage is busy"));
        }
        tokio::fs::read(path).await
    }
}

fn mood(path: &Path) -> u32 {
    let name = path.file_name().unwrap_or_default();
    name.as_encoded_bytes().iter().copied().map(u32::from).sum()
}
