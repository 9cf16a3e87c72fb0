use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use tokio::sync::watch;

/// Disturbs the line between one handle and its backend.
#[async_trait]
pub trait Faults: Send + Sync {
    /// Cuts the line: calls fail, those under way lose their replies, until it is restored.
    async fn cut(&self);

    /// Ends a cut.
    async fn restore(&self);

    /// The next `calls` calls fail before they reach the backend.
    async fn fail_next(&self, calls: usize);

    /// The next `calls` calls reach the backend, which acts; their replies are lost.
    async fn lose_replies(&self, calls: usize);
}

/// A method of [`Driver`](goqueue_core::driver::Driver).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// `ping`
    Ping,
    /// `push`
    Push,
    /// `reserve`
    Reserve,
    /// `extend`
    Extend,
    /// `settle`
    Settle,
    /// `maintain`
    Maintain,
}

impl Op {
    /// The name of the method.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::Push => "push",
            Self::Reserve => "reserve",
            Self::Extend => "extend",
            Self::Settle => "settle",
            Self::Maintain => "maintain",
        }
    }
}

/// Steers a [`FaultyDriver`](super::FaultyDriver). Beside what every line offers it can pick out
/// one kind of call. Cheap to clone.
#[derive(Clone)]
pub struct FaultControl(Arc<Inner>);

struct Inner {
    is_cut: watch::Sender<bool>,
    plan: Mutex<Plan>,
}

#[derive(Debug, Default)]
struct Plan {
    fail_any: usize,
    lose_any: usize,
    fail: HashMap<Op, usize>,
    lose: HashMap<Op, usize>,
    slow: HashMap<Op, Duration>,
}

/// What happens to one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Pass,
    Fail,
    LoseReply,
}

impl FaultControl {
    pub(super) fn new() -> Self {
        Self(Arc::new(Inner {
            is_cut: watch::Sender::new(false),
            plan: Mutex::default(),
        }))
    }

    /// The next `calls` calls of this kind fail before they reach the backend.
    pub fn fail(&self, op: Op, calls: usize) {
        self.plan().fail.insert(op, calls);
    }

    /// The next `calls` calls of this kind reach the backend, which acts; their replies are lost.
    pub fn lose(&self, op: Op, calls: usize) {
        self.plan().lose.insert(op, calls);
    }

    /// Every call of this kind takes this much longer to reach the backend. [`Duration::MAX`] makes
    /// it hang for ever.
    pub fn slow(&self, op: Op, by: Duration) {
        self.plan().slow.insert(op, by);
    }

    pub(super) fn slowness(&self, op: Op) -> Duration {
        self.plan().slow.get(&op).copied().unwrap_or_default()
    }

    /// Decides about one call and uses up what was planned for it.
    pub(super) fn fate(&self, op: Op) -> Fate {
        if self.is_cut() {
            return Fate::Fail;
        }
        let mut plan = self.plan();
        let plan = &mut *plan;
        if used(plan.fail.get_mut(&op)) || used(Some(&mut plan.fail_any)) {
            Fate::Fail
        } else if used(plan.lose.get_mut(&op)) || used(Some(&mut plan.lose_any)) {
            Fate::LoseReply
        } else {
            Fate::Pass
        }
    }

    pub(super) fn is_cut(&self) -> bool {
        *self.0.is_cut.borrow()
    }

    pub(super) async fn until_cut(&self) {
        let mut is_cut = self.0.is_cut.subscribe();
        // The sender lives as long as `self`.
        let _ = is_cut.wait_for(|is_cut| *is_cut).await;
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.0.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn used(left: Option<&mut usize>) -> bool {
    match left {
        Some(left) if *left > 0 => {
            *left -= 1;
            true
        }
        _ => false,
    }
}

#[async_trait]
impl Faults for FaultControl {
    async fn cut(&self) {
        self.0.is_cut.send_replace(true);
    }

    async fn restore(&self) {
        self.0.is_cut.send_replace(false);
    }

    async fn fail_next(&self, calls: usize) {
        self.plan().fail_any = calls;
    }

    async fn lose_replies(&self, calls: usize) {
        self.plan().lose_any = calls;
    }
}

impl fmt::Debug for FaultControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultControl")
            .field("is_cut", &self.is_cut())
            .field("plan", &*self.plan())
            .finish()
    }
}
