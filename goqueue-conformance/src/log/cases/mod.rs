//! The cases, a module per clause.

pub(super) mod l1_commit_order;
pub(super) mod l2_starvation;
pub(super) mod l3_other_groups;
pub(super) mod l4_fencing;
pub(super) mod l5_room;
pub(super) mod l6_round_trips;
pub(super) mod l7_new_groups;
pub(super) mod l8_discovery;
pub(super) mod s01_at_least_once;
pub(super) mod s02_idempotent;
pub(super) mod s03_order;
pub(super) mod s04_answers;
pub(super) mod s05_dead_letters;
pub(super) mod s06_groups;
pub(super) mod s07_watermark;
pub(super) mod s08_fair_share;
pub(super) mod s09_shutdown;
pub(super) mod s10_admin;
