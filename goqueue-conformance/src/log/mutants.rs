//! Naive designs, each with the case that has to notice: [`log_mutants!`](crate::log_mutants) runs
//! the case on the backend as it is, which has to pass, and on the mutant, which has to fail.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use goqueue_core::{
    Result,
    log::{LogBackend, Published, store::PublishRequest},
};
use tokio::runtime::Runtime;

use super::{
    clause::LogClause,
    harness::{Held, LogHarness},
    quirky::Quirky,
    suite::{LogCase, log_verdict},
};
use crate::harness::{NoServer, Store, Timing};

/// A backend that breaks one promise.
#[derive(Clone, Copy, Debug)]
pub struct LogMutant {
    /// What it does wrong.
    pub name: &'static str,
    /// The clause it breaks.
    pub clause: LogClause,
    /// The case that has to notice.
    pub case: &'static str,
    quirk: Quirk,
}

/// Calls a macro with every mutant: `name: Quirk => clause case;`.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_log_mutant {
    ([$($then:tt)*] [$($with:tt)*]) => {
        $($then)*! {
            [$($with)*]

            loses_a_message: LosesAMessage => S1 many_partitions_are_all_read;
            forgets_visibility: ForgetsVisibility => S4 an_unanswered_message_comes_back_when_its_visibility_ends;
            calls_duplicates_stored: CallsDuplicatesStored => S2 a_duplicate_is_told;
            reverses_batches: ReversesBatches => S3 a_partition_is_delivered_in_order;
            ignores_serial: IgnoresSerial => S3 a_batch_of_one_is_strictly_serial;
            nacks_at_once: NacksAtOnce => S4 a_nack_hides_the_message_for_its_delay;
            postpones_as_nack: PostponesAsNack => S4 a_postponed_message_holds_its_partition;
            forgets_attempts: ForgetsAttempts => S5 a_message_that_keeps_failing_becomes_a_dead_letter;
            forgets_the_reason: ForgetsTheReason => S5 a_rejected_message_is_a_dead_letter_at_once;
            shares_state_between_groups: MovesDeadLetters => S6 the_state_of_groups_is_independent;
            collects_nothing: CollectsNothing => S7 what_every_group_has_acked_is_collected;
            sees_only_the_first: SeesOnlyTheFirst => S8 shares_settle_odd;
            keeps_leases: KeepsLeases => S9 a_closed_subscription_leaves_nothing_behind;
            resets_to_zero: ResetsToZero => S10 an_offset_can_be_reset;
            numbers_before_the_commit: NumbersBeforeTheCommit => L1 a_slow_transaction_loses_nothing;
            filters_after_the_limit: FiltersAfterTheLimit => L2 one_stuck_message_holds_up_nobody;
            moves_dead_letters: MovesDeadLetters => L3 a_dead_letter_robs_no_other_group;
            settles_by_offset: SettlesByOffset => L4 an_answer_after_another_delivery_is_refused;
            fetches_without_room: FetchesWithoutRoom => L5 no_more_is_fetched_than_there_is_room_for;
            lets_visibility_run_out: NeverExtends => L5 what_waits_keeps_its_visibility;
            fetches_one_by_one: FetchesOneByOne => L6 calls_do_not_grow_with_the_messages;
            registers_on_the_first_fetch: RegistersOnTheFirstFetch => L7 a_new_group_holds_back_collection;
            always_starts_at_the_beginning: AlwaysStartsAtTheBeginning => L7 a_new_group_starts_where_it_says;
            keeps_for_ever: KeepsForEver => L7 an_abandoned_group_does_not_keep_the_log;
            scans_messages: ScansMessages => L8 discovery_costs_what_the_partitions_cost;
        }
    };
}

macro_rules! list_of_mutants {
    ([] $($name:ident: $quirk:ident => $clause:ident $case:ident;)+) => {
        /// Every mutant.
        pub const LOG_MUTANTS: &[LogMutant] = &[
            $(
                LogMutant {
                    name: stringify!($name),
                    clause: LogClause::$clause,
                    case: stringify!($case),
                    quirk: Quirk::$quirk,
                },
            )+
        ];
    };
}

for_each_log_mutant! { [list_of_mutants] [] }

/// What a mutant does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quirk {
    LosesAMessage,
    ForgetsVisibility,
    CallsDuplicatesStored,
    ReversesBatches,
    IgnoresSerial,
    NacksAtOnce,
    PostponesAsNack,
    ForgetsAttempts,
    ForgetsTheReason,
    MovesDeadLetters,
    CollectsNothing,
    SeesOnlyTheFirst,
    KeepsLeases,
    ResetsToZero,
    NumbersBeforeTheCommit,
    FiltersAfterTheLimit,
    SettlesByOffset,
    FetchesWithoutRoom,
    NeverExtends,
    FetchesOneByOne,
    RegistersOnTheFirstFetch,
    AlwaysStartsAtTheBeginning,
    KeepsForEver,
    ScansMessages,
}

/// Requires that a case passes on a backend and fails on a mutant of it.
///
/// # Panics
/// When the mutant gets away with it, or the backend itself fails.
pub fn check_log_mutant(harness: &dyn LogHarness, name: &str) {
    let Some(mutant) = LOG_MUTANTS.iter().find(|mutant| mutant.name == name) else {
        panic!("there is no mutant `{name}`")
    };
    let Some(case) = LogCase::named(mutant.clause, mutant.case) else {
        panic!("{} has no case `{}`", mutant.clause, mutant.case)
    };
    if let Err(broken) = log_verdict(harness, case) {
        panic!("expected: the backend itself passes\nhappened: {broken}");
    }
    let mutated = Mutated {
        inner: harness,
        quirk: mutant.quirk,
        stores: Mutex::default(),
    };
    match log_verdict(&mutated, case) {
        Err(broken) => println!("{name} is caught:\n{broken}"),
        Ok(()) => panic!(
            "expected: a log that {name} does not pass `{}` of {}\nhappened: it does",
            case.name, mutant.clause
        ),
    }
}

/// Makes a test of every mutant.
#[macro_export]
macro_rules! log_mutants {
    ($harness:expr) => {
        $crate::for_each_log_mutant! { [$crate::tests_of_log_mutants] [$harness] }
    };
}

/// Part of [`log_mutants!`](crate::log_mutants).
#[doc(hidden)]
#[macro_export]
macro_rules! tests_of_log_mutants {
    ([$harness:expr] $($name:ident: $quirk:ident => $clause:ident $case:ident;)+) => {
        $(
            #[test]
            fn $name() {
                $crate::log::check_log_mutant(&$harness, stringify!($name));
            }
        )+
    };
}

/// A backend whose every handle is a mutant; the handles of one log share it.
struct Mutated<'h> {
    inner: &'h dyn LogHarness,
    quirk: Quirk,
    stores: Mutex<HashMap<Store, Arc<Quirky>>>,
}

impl Mutated<'_> {
    async fn quirky(&self, store: &Store) -> Arc<Quirky> {
        let backend = self.inner.connect(store).await;
        let mut stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(Quirky::new(backend, self.quirk));
        Arc::clone(stores.entry(store.clone()).or_insert_with(new))
    }
}

struct Hidden {
    quirky: Arc<Quirky>,
    published: Vec<Published>,
}

#[async_trait]
impl Held for Hidden {
    async fn commit(self: Box<Self>) -> Result<Vec<Published>> {
        self.quirky.show();
        Ok(self.published)
    }
}

#[async_trait]
impl LogHarness for Mutated<'_> {
    fn name(&self) -> &str {
        "a mutant"
    }

    fn runtime(&self) -> Runtime {
        self.inner.runtime()
    }

    fn timing(&self) -> Timing {
        self.inner.timing()
    }

    async fn store(&self) -> Store {
        self.inner.store().await
    }

    async fn connect(&self, store: &Store) -> Arc<dyn LogBackend> {
        self.quirky(store).await
    }

    async fn hold(&self, store: &Store, request: PublishRequest) -> Box<dyn Held> {
        if self.quirk != Quirk::NumbersBeforeTheCommit {
            return self.inner.hold(store, request).await;
        }
        let quirky = self.quirky(store).await;
        let published = quirky.hide(&request).await.expect("it is published");
        Box::new(Hidden { quirky, published })
    }

    async fn elapse(&self, time: Duration) {
        self.inner.elapse(time).await;
    }

    async fn store_to_restart(&self) -> Store {
        self.inner.store_to_restart().await
    }

    async fn restart_server(&self, store: &Store) -> Result<(), NoServer> {
        self.inner.restart_server(store).await
    }

    async fn clean_up(&self) {
        self.inner.clean_up().await;
    }
}
