use crate::{
    context::JobContext,
    job::{Headers, JobId},
};

/// One run of one job on its way through the stack.
#[derive(Debug)]
pub struct JobRequest {
    context: JobContext,
}

impl JobRequest {
    pub(crate) fn new(context: JobContext) -> Self {
        Self { context }
    }

    /// What the handler will be given.
    #[must_use]
    pub fn context(&self) -> &JobContext {
        &self.context
    }

    pub(crate) fn into_context(self) -> JobContext {
        self.context
    }

    /// The job's identity.
    #[must_use]
    pub fn id(&self) -> JobId {
        self.context.id()
    }

    /// The job type's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.context.name()
    }

    /// The queue it was reserved from.
    #[must_use]
    pub fn queue(&self) -> &str {
        self.context.queue()
    }

    /// Which delivery this is, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.context.attempt()
    }

    /// Text that was enqueued beside the payload.
    #[must_use]
    pub fn headers(&self) -> &Headers {
        self.context.headers()
    }
}
