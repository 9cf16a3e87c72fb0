/// What a worker did, from its start to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Runs that ended with an answer, success or failure, which the backend took down.
    pub finished: u64,
    /// Jobs given back unfinished at the stop.
    pub released: u64,
    /// Jobs that could not be given back: they run again when their leases end.
    pub abandoned: u64,
}
