//! The one list of the log's cases, and how one is run.

use std::fmt;

use futures_util::future::LocalBoxFuture;

use super::{
    clause::LogClause,
    harness::{LogHarness, RealTimeLog},
};
use crate::suite::{check_table_between, quietly, run_to_the_end, table_of};

/// Calls a macro with every case: `clause module { name, name: real_time, … }`.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_log_case {
    ([$($then:tt)*] [$($with:tt)*]) => {
        $($then)*! {
            [$($with)*]

            S1 s01_at_least_once {
                a_published_message_is_delivered,
                what_was_there_before_the_subscriber_is_delivered,
                many_partitions_are_all_read,
                a_delayed_message_is_never_early,
                concurrent_publishers_lose_nothing: real_time,
                a_crashed_subscriber_loses_nothing,
                a_restarted_backend_keeps_its_messages,
                what_cannot_be_published_is_named,
            }
            S2 s02_idempotent {
                a_duplicate_is_told,
                a_duplicate_within_a_batch_is_told,
                duplicates_anywhere_in_a_long_call_are_told,
                ids_are_compared_within_a_partition_of_a_topic,
                one_of_many_at_once_is_stored: real_time,
            }
            S3 s03_order {
                a_partition_is_delivered_in_order,
                a_slow_partition_delays_no_other,
                a_batch_of_one_is_strictly_serial,
                a_serial_partition_waits_for_a_retry,
                a_new_holder_keeps_the_serial_order,
            }
            S4 s04_answers {
                an_unanswered_message_comes_back_when_its_visibility_ends,
                an_extended_message_stays_away_and_keeps_its_attempt,
                a_nack_hides_the_message_for_its_delay,
                a_nack_without_a_delay_follows_the_schedule,
                a_nack_blocks_nobody,
                a_postponed_message_holds_its_partition,
                an_acked_message_is_gone_for_good,
                attempts_survive_a_crash,
            }
            S5 s05_dead_letters {
                a_message_that_keeps_failing_becomes_a_dead_letter,
                a_rejected_message_is_a_dead_letter_at_once,
                a_message_that_is_never_answered_becomes_a_dead_letter,
                without_dead_letters_a_message_is_dropped,
                dead_letters_can_be_read_like_any_topic,
                a_requeued_letter_comes_back_to_its_group_alone,
            }
            S6 s06_groups {
                every_group_reads_everything,
                subscribers_of_a_group_share_the_messages,
                the_state_of_groups_is_independent,
            }
            S7 s07_watermark {
                the_watermark_is_contiguous,
                what_every_group_has_acked_is_collected,
                a_subscription_collects_by_itself,
                a_gap_does_not_stop_the_watermark,
            }
            S8 s08_fair_share {
                shares_settle_even,
                shares_settle_odd,
                shares_settle_with_more_subscribers_than_partitions,
                the_share_of_one_that_leaves_is_taken,
                the_share_of_one_that_crashes_is_taken,
                what_nobody_comes_for_is_swept,
                a_drained_partition_is_given_up,
                rebalancing_loses_nothing,
            }
            S9 s09_shutdown {
                a_closed_subscription_leaves_nothing_behind,
                what_was_not_handed_out_is_given_back,
                a_delivery_in_hand_can_be_answered_after_the_close,
                a_dropped_subscription_is_closed,
                the_stream_ends_when_the_backend_is_closed,
            }
            S10 s10_admin {
                topics_and_messages_are_listed,
                a_message_is_found_with_its_state,
                a_deleted_message_is_not_delivered,
                a_purged_topic_is_empty_and_works_on,
                lag_is_told_by_group_and_partition,
                an_offset_can_be_reset,
                leases_can_be_listed_and_released,
            }
            L1 l1_commit_order {
                a_slow_transaction_loses_nothing,
                readers_never_meet_a_lower_offset: real_time,
            }
            L2 l2_starvation {
                one_stuck_message_holds_up_nobody,
                invisible_messages_hold_up_nobody,
            }
            L3 l3_other_groups {
                a_dead_letter_robs_no_other_group,
                two_groups_make_two_letters,
            }
            L4 l4_fencing {
                an_answer_after_another_delivery_is_refused,
                an_answer_after_a_lost_lease_counts_until_then,
                a_fetch_needs_the_lease,
                an_extension_after_another_delivery_is_refused,
            }
            L5 l5_room {
                no_more_is_fetched_than_there_is_room_for,
                what_waits_keeps_its_visibility,
            }
            L6 l6_round_trips {
                calls_do_not_grow_with_the_messages,
            }
            L7 l7_new_groups {
                a_new_group_starts_where_it_says,
                a_new_group_holds_back_collection,
                an_abandoned_group_does_not_keep_the_log,
            }
            L8 l8_discovery {
                discovery_costs_what_the_partitions_cost: real_time,
            }
        }
    };
}

/// One case of the log's suite.
#[derive(Clone, Copy)]
pub struct LogCase {
    /// The clause that it checks.
    pub clause: LogClause,
    /// Its name: what is promised.
    pub name: &'static str,
    /// Whether it needs several threads and the real clock, whatever the harness runs on.
    pub is_real_time: bool,
    run: for<'h> fn(&'h dyn LogHarness) -> LocalBoxFuture<'h, ()>,
}

impl LogCase {
    /// The case of this name.
    #[must_use]
    pub fn named(clause: LogClause, name: &str) -> Option<&'static Self> {
        LOG_CASES
            .iter()
            .find(|case| case.clause == clause && case.name == name)
    }
}

impl fmt::Debug for LogCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}::{}", self.clause, self.name)
    }
}

macro_rules! table_of_log_cases {
    (
        []
        $($clause:ident $module:ident { $($name:ident $(: $clock:ident)?,)+ })+
    ) => {
        /// Every case, clause by clause.
        pub const LOG_CASES: &[LogCase] = &[
            $($(
                LogCase {
                    clause: LogClause::$clause,
                    name: stringify!($name),
                    is_real_time: false $(|| table_of_log_cases!(@$clock))?,
                    run: |harness| Box::pin(super::cases::$module::$name(harness)),
                },
            )+)+
        ];
    };
    (@real_time) => { true };
}

for_each_log_case! { [table_of_log_cases] [] }

/// Runs one case on a backend.
///
/// # Panics
/// When the backend breaks the promise, or there is no such case.
pub fn run_log(harness: &dyn LogHarness, clause: LogClause, name: &str) {
    let Some(case) = LogCase::named(clause, name) else {
        panic!("{clause} has no case `{name}`")
    };
    if let Err(broken) = attempt(harness, case) {
        panic!("{broken}");
    }
}

/// Runs one case on a backend and tells what it thinks, quietly.
///
/// # Errors
/// The clause that is broken, what was expected and what happened.
pub fn log_verdict(harness: &dyn LogHarness, case: &LogCase) -> Result<(), String> {
    quietly(|| attempt(harness, case))
}

fn attempt(harness: &dyn LogHarness, case: &LogCase) -> Result<(), String> {
    let real_time = RealTimeLog(harness);
    let harness: &dyn LogHarness = if case.is_real_time {
        &real_time
    } else {
        harness
    };
    let outcome = run_to_the_end(harness.runtime(), (case.run)(harness), harness.clean_up());
    outcome.map_err(|panic| {
        let (clause, name, harness) = (case.clause, case.name, harness.name());
        format!("{clause} is broken on {harness}, says `{name}`\n{panic}")
    })
}

/// The lines between which a document holds the table of the log's cases.
pub const LOG_MARKS: [&str; 2] = ["<!-- log cases: begin -->", "<!-- log cases: end -->"];

/// Compares the table in a document with the log's cases.
///
/// # Panics
/// As for [`check_table`](crate::check_table).
pub fn check_log_table(document: &std::path::Path) {
    let rows = LogClause::ALL.iter().map(|clause| {
        let cases = LOG_CASES.iter().filter(|case| case.clause == *clause);
        let names = cases.map(|case| case.name).collect();
        (format!("{clause:?} {}", clause.title()), names)
    });
    check_table_between(document, LOG_MARKS, &table_of(rows));
}

/// Turns every case of the log into an ordinary test on the backend of a harness, in a module per
/// clause. The expression makes a harness; it is evaluated in every test.
#[macro_export]
macro_rules! log_suite {
    ($harness:expr) => {
        $crate::for_each_log_case! { [$crate::log_suite_of_tests] [$harness] }
    };
}

/// Part of [`log_suite!`](crate::log_suite).
#[doc(hidden)]
#[macro_export]
macro_rules! log_suite_of_tests {
    (
        [$harness:expr]
        $($clause:ident $module:ident { $($name:ident $(: $clock:ident)?,)+ })+
    ) => {
        $(
            mod $module {
                #[allow(unused_imports, reason = "the harness may be named by a path")]
                use super::*;

                $(
                    #[test]
                    fn $name() {
                        $crate::log::run_log(
                            &$harness,
                            $crate::log::LogClause::$clause,
                            stringify!($name),
                        );
                    }
                )+
            }
        )+
    };
}
