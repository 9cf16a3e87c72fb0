use super::{Mutant, counting, dead_letters, honesty, keys, leases, loss, time};
use crate::clause::Clause;

/// Calls a macro with every mutant: `name: how to make it => clause case;`.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_mutant {
    ([$($then:tt)*] [$($with:tt)*]) => {
        $($then)*! {
            [$($with)*]

            acks_before_the_run: leases::AcksBeforeTheRun => C1 a_crashed_worker_loses_nothing;
            loses_released_jobs: loss::LosesReleased => C1 a_released_job_comes_back;
            shortens_bodies: loss::ShortensBodies => C1 bodies_come_back_byte_equal;
            forgets_the_fence: leases::ForgetsTheFence => C2 a_stale_ack_changes_nothing;
            answers_job_by_job:
                leases::AnswersByJob => C2 a_stale_lease_beside_the_present_one_is_lost;
            reserves_twice: leases::ReservesTwice => C2 two_reservers_never_hold_one_job;
            extends_nothing: leases::ExtendsNothing => C2 an_extended_lease_holds;
            counts_attempts_late: counting::CountsLate => C3 attempts_survive_lost_leases;
            keeps_attempts_of_the_dead:
                dead_letters::KeepsAttempts => C3 a_redriven_job_starts_over;
            retries_at_once: time::RetriesAtOnce => C4 the_trace_of_a_failing_job_is_pinned;
            shows_delayed_jobs_early: time::ShowsEarly => C5 a_delayed_job_is_never_early;
            rounds_delays_down: time::RoundsDown => C5 the_shortest_delay_is_rounded_up;
            polls_in_a_hurry: time::PollsInAHurry => C5 an_idle_worker_does_not_spin;
            alters_the_letter: dead_letters::AltersTheLetter => C6 a_dead_letter_keeps_everything;
            drops_the_dead: loss::DropsTheDead => C6 an_exhausted_job_dies_with_its_story;
            redrives_twice: dead_letters::RedrivesTwice => C6 redriving_twice_moves_once;
            shows_ten_letters: dead_letters::ShowsTenLetters => C6 letters_of_one_key_are_all_listed;
            forgets_the_error: loss::ForgetsTheError => C7 the_last_error_is_kept_with_the_job;
            lets_leases_run_out:
                leases::ExtendsNothing => C8 a_job_longer_than_its_lease_runs_once;
            waits_to_the_end: time::WaitsToTheEnd => C9 a_stop_ends_a_long_poll;
            spends_released_attempts:
                counting::SpendsReleased => C9 unfinished_jobs_are_given_back_after_the_grace;
            ignores_ordering_keys: keys::IgnoresOrdering => C10 a_key_runs_one_at_a_time_in_order;
            ignores_unique_keys: keys::IgnoresUnique => C11 a_key_is_taken_in_every_state;
            never_frees_keys: keys::NeverFrees => C11 a_done_job_frees_its_key;
            names_the_wrong_duplicate:
                keys::NamesItself => C11 the_enqueuer_is_told_the_job_that_is_there;
            stores_not_every_job: loss::StoresNotEvery => C12 thousands_are_stored_in_order;
            ignores_shares: counting::IgnoresShares => C13 full_queues_are_served_by_weight;
            reports_success_without_a_line:
                honesty::AlwaysStored => C14 an_unreachable_backend_is_an_error;
            shows_its_password: honesty::ShowsItsPassword => C15 handles_show_no_secret;
            keeps_a_job_when_a_wait_ends:
                leases::KeepsOneBack => C1 a_job_pushed_as_a_wait_ends_is_free;
            triples_the_delay_of_a_release:
                time::ReleasesLate => C1 random_histories_match_the_model;
        }
    };
}

macro_rules! table_of_mutants {
    ([] $($name:ident: $make:path => $clause:ident $case:ident;)+) => {
        /// Every mutant, with the case meant for it.
        pub const MUTANTS: &[Mutant] = &[
            $(Mutant {
                name: stringify!($name),
                clause: Clause::$clause,
                case: stringify!($case),
                make: <$make>::around,
            },)+
        ];
    };
}

crate::for_each_mutant! { [table_of_mutants] [] }
