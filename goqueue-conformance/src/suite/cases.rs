//! The one list: it makes the table of cases, and the tests of [`suite!`](crate::suite).

use super::Case;
use crate::clause::Clause;

/// Calls a macro with every case: `clause module { name, name: real_time, … }`.
///
/// `real_time` marks the cases that need several threads and the real clock.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_case {
    ([$($then:tt)*] [$($with:tt)*]) => {
        $($then)*! {
            [$($with)*]

            C1 c01_at_least_once {
                a_stored_job_is_there_for_everyone,
                bodies_come_back_byte_equal,
                a_retried_job_comes_back,
                a_released_job_comes_back,
                a_job_pushed_as_a_wait_ends_is_free,
                a_push_that_is_given_up_holds_no_job,
                a_crashed_worker_loses_nothing,
                a_worker_that_vanishes_loses_nothing,
                a_killed_process_loses_nothing,
                a_restarted_backend_keeps_its_jobs,
                a_lost_push_reply_is_no_success,
                a_lost_reservation_comes_back,
                a_settlement_can_be_repeated,
                a_failing_settlement_is_repeated,
                a_worker_survives_lost_replies,
                a_rough_day_loses_nothing,
                random_histories_match_the_model,
            }
            C2 c02_one_holder {
                a_held_job_is_given_to_nobody_else,
                a_stale_ack_changes_nothing,
                a_stale_retry_changes_nothing,
                a_stale_release_changes_nothing,
                a_stale_burial_changes_nothing,
                a_stale_extension_changes_nothing,
                a_stale_lease_beside_the_present_one_is_lost,
                a_settled_lease_is_lost,
                a_made_up_lease_is_lost,
                an_expired_lease_that_nobody_took_is_answered_truthfully,
                a_batch_is_answered_lease_by_lease,
                an_extended_lease_holds,
                an_extension_counts_from_now,
                two_reservers_never_hold_one_job: real_time,
                an_exclusive_claim_holds_under_load: real_time,
                two_workers_run_each_job_once: real_time,
                an_ack_held_up_by_a_cut_line_is_refused,
                a_frozen_worker_comes_back_too_late,
            }
            C3 c03_attempts {
                attempts_count_deliveries,
                attempts_survive_lost_leases,
                attempts_are_counted_job_by_job,
                a_release_gives_its_attempt_back,
                a_job_that_kills_its_workers_dies_without_a_run,
                the_last_attempt_is_still_run,
                a_redriven_job_starts_over,
            }
            C4 c04_retry_schedule {
                the_trace_of_a_failing_job_is_pinned,
                a_jittered_trace_is_pinned,
                a_constant_trace_is_pinned,
                max_attempts_counts_every_run,
                the_jobs_own_schedule_goes_before_the_workers,
                the_longest_delay_saturates,
            }
            C5 c05_never_early {
                a_delayed_job_is_never_early,
                a_retried_job_is_never_early,
                a_released_job_is_never_early,
                the_shortest_delay_is_rounded_up,
                a_delay_beyond_the_limit_is_refused,
                a_time_that_has_passed_is_now,
                a_waiting_reservation_gets_a_new_job_at_once,
                a_waiting_reservation_gets_a_job_when_it_is_due,
                a_waiting_reservation_gets_a_job_whose_lease_ends,
                a_wait_ends_on_time,
                a_wait_can_be_cancelled,
                many_due_jobs_do_not_hold_up_a_claim,
                an_idle_worker_does_not_spin,
            }
            C6 c06_dead_letters {
                a_dead_letter_keeps_everything,
                an_exhausted_job_dies_with_its_story,
                discarded_dead_jobs_are_named_in_the_log,
                a_failing_sink_never_loses_the_job,
                a_panicking_sink_never_loses_the_job,
                a_broken_sink_gives_the_job_back_at_the_stop,
                a_failing_burial_is_repeated,
                redriving_twice_moves_once,
                a_redrive_leaves_a_taken_key_alone,
                dead_letters_are_listed_by_pages,
                letters_of_one_key_are_all_listed,
                deleted_dead_letters_are_gone,
                a_purge_leaves_dead_and_running_jobs,
                every_state_can_be_looked_at,
            }
            C7 c07_answers {
                success_ends_the_job,
                any_error_is_retried,
                a_failure_may_name_its_delay,
                a_permanent_error_is_not_retried,
                a_snooze_spends_no_attempt,
                a_discard_is_logged,
                a_panic_is_a_failure,
                a_timeout_drops_the_handler,
                the_workers_timeout_is_the_default,
                a_blocking_handler_is_timed_out: real_time,
                a_callback_that_panics_harms_nobody,
                an_unknown_name_is_a_failure,
                what_does_not_decode_is_dead_at_once,
                the_last_error_is_kept_with_the_job,
            }
            C8 c08_long_jobs {
                a_job_longer_than_its_lease_runs_once,
                many_long_jobs_are_all_kept,
                a_failed_extension_is_tried_again,
                a_lost_lease_tells_the_job,
                a_late_ack_is_refused,
                a_deaf_job_is_dropped_after_its_lease,
            }
            C9 c09_shutdown {
                running_jobs_end_and_the_rest_stays,
                a_stop_ends_a_long_poll,
                unfinished_jobs_are_given_back_after_the_grace,
                a_deaf_job_is_given_back_too,
                a_job_may_end_when_it_is_told_to_stop,
                nothing_is_reserved_after_the_signal,
                jobs_that_were_not_started_are_given_back,
                an_abort_waits_for_nothing,
                a_silent_backend_does_not_hold_up_the_stop,
                a_second_signal_aborts: real_time,
            }
            C10 c10_order {
                a_queue_is_first_in_first_out,
                whoever_waits_gets_jobs_in_order,
                a_key_runs_one_at_a_time_in_order,
                one_reservation_takes_one_job_of_a_key,
                a_retry_holds_its_key,
                a_delayed_head_holds_its_key,
                a_released_job_keeps_its_place,
                a_lost_lease_keeps_its_place,
                a_dead_job_frees_its_key,
                keys_do_not_wait_for_each_other,
                a_released_job_goes_in_front,
                workers_keep_the_order_of_each_key,
            }
            C11 c11_unique {
                a_key_is_taken_in_every_state,
                a_done_job_frees_its_key,
                a_dead_job_frees_its_key,
                a_discarded_job_frees_its_key,
                a_purged_job_frees_its_key,
                a_held_key_outlives_its_job,
                a_short_hold_does_not_free_a_live_job,
                keys_are_compared_within_a_queue,
                duplicates_within_a_batch_are_found,
                one_of_many_at_once_is_stored: real_time,
                the_enqueuer_is_told_the_job_that_is_there,
            }
            C12 c12_bulk {
                thousands_are_stored_in_order,
                a_full_batch_is_taken,
                a_batch_is_split_by_its_bytes,
                failures_within_a_batch_are_told,
                a_call_that_fails_ends_the_batch,
                a_call_without_an_answer_ends_the_batch,
            }
            C13 c13_weights {
                full_queues_are_served_by_weight,
                weights_hold_for_many_slots,
                no_queue_starves,
                an_empty_queue_costs_the_others_nothing,
                shares_are_kept,
                strict_order_serves_the_heavy_first,
            }
            C14 c14_honest_failure {
                an_unreachable_backend_is_an_error,
                a_silent_backend_meets_the_deadline,
                a_worker_resumes_by_itself,
                an_unreachable_backend_is_not_hammered,
                a_run_that_ends_without_a_line_is_settled_later,
                a_restarted_backend_is_found_again,
                an_oversized_payload_is_refused_unsent,
                a_closed_driver_says_so,
                a_closed_driver_ends_the_worker_aloud,
            }
            C15 c15_secrets {
                urls_hide_their_secrets,
                driver_tables_hide_their_secrets,
                handles_show_no_secret,
                errors_and_logs_show_no_secret,
            }
        }
    };
}

macro_rules! table_of_cases {
    (
        []
        $($clause:ident $module:ident { $($name:ident $(: $clock:ident)?,)+ })+
    ) => {
        /// Every case, clause by clause.
        pub const CASES: &[Case] = &[
            $($(
                Case {
                    clause: Clause::$clause,
                    name: stringify!($name),
                    is_real_time: false $(|| table_of_cases!(@$clock))?,
                    run: |harness| Box::pin(crate::cases::$module::$name(harness)),
                },
            )+)+
        ];
    };
    (@real_time) => { true };
}

crate::for_each_case! { [table_of_cases] [] }
