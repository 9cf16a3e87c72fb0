//! How many rows one prepared statement stores.

/// The most bytes that are sent at once. TLS cuts what is longer than 16 KiB into several writes, of
/// which the last waits for the acknowledgement of the others: sqlx 0.9.0 leaves Nagle's algorithm
/// on.
const ONE_WRITE: usize = 15 * 1024;

/// How many of the rows of these sizes, in bytes, the next statement stores; at least one. Preparing
/// a statement takes the server longer than storing its rows, so they come in a few sizes that each
/// connection keeps prepared: `most`, its half, and what is below that.
pub(crate) fn portion(sizes: impl IntoIterator<Item = usize>, most: usize) -> usize {
    let mut bytes = 0;
    let fits = |size: &usize| {
        bytes += size;
        bytes <= ONE_WRITE
    };
    let fitting = sizes.into_iter().take(most).take_while(fits).count();
    match fitting {
        full if full == most => most,
        many if many > most / 2 => most / 2,
        few => few.max(1),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// The sizes of the statements that store so many rows of so many bytes.
    fn cut(count: usize, bytes: usize) -> Vec<usize> {
        let rows = vec![bytes; count];
        let (mut left, mut sizes) = (rows.as_slice(), Vec::new());
        while !left.is_empty() {
            let (some, rest) = left.split_at(portion(left.iter().copied(), 32));
            sizes.push(some.len());
            left = rest;
        }
        sizes
    }

    #[test]
    fn any_batch_is_cut_into_a_few_sizes_of_statements() {
        assert_eq!(cut(1, 100), [1]);
        assert_eq!(cut(13, 100), [13]);
        assert_eq!(cut(31, 100), [16, 15]);
        assert_eq!(cut(100, 100), [32, 32, 32, 4]);
        let sizes: HashSet<_> = (1..200).flat_map(|count| cut(count, 100)).collect();
        assert_eq!(sizes.len(), 17);
    }

    #[test]
    fn a_statement_is_one_write_unless_a_row_alone_is_longer() {
        assert_eq!(cut(5, 5_064), [3, 2]);
        assert_eq!(cut(2, 100_000), [1, 1]);
        assert_eq!(cut(40, 564), [16, 16, 8]);
    }
}
