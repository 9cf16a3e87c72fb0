//! Taking jobs, running them, and telling the backend what became of them.

mod running;

pub(crate) use running::RunningJob;
