use goqueue_core::driver::FindingStatus;

use super::*;
use crate::{
    diagnose::{
        survey::tests::{pair, survey, there},
        tests::{settings, wanted},
    },
    error::Fault,
};

fn is_there(name: &str) -> What {
    there(name, false, &[]).what
}

fn of_queues(findings: Vec<Finding>) -> Vec<Finding> {
    let found = findings.into_iter();
    found.filter(|finding| finding.check == QUEUES).collect()
}

#[test]
fn what_is_there_is_told_with_what_is_beside_it() {
    let settings = settings("sqs://eu-west-1/shop-", "create_queues = true");
    let survey = survey(vec![
        pair("a", is_there("a"), is_there("a-dead")),
        pair("b", is_there("b"), What::Missing),
        pair("c", What::Missing, is_there("c-dead")),
        pair("d", What::Missing, What::Missing),
    ]);
    let findings = of_queues(all(&survey, &wanted(&settings)));
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(
        findings[0].found,
        "in eu-west-1 with the prefix `shop-`: `a` with dead letters; `b` without a queue for dead \
         letters; `c` with nothing but dead letters; `d` not there yet; what is missing is made when it \
         is first used"
    );
}

#[test]
fn jobs_without_room_for_their_dead_letters_are_a_problem() {
    let settings = settings("sqs://eu-west-1/shop-", "");
    let survey = survey(vec![
        pair("a", is_there("a"), What::Missing),
        // The dead letters of workers whose jobs live elsewhere.
        pair("c", What::Missing, is_there("c-dead")),
    ]);
    let mut wanted = wanted(&settings);
    let findings = of_queues(all(&survey, &wanted));
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(findings[0].status, FindingStatus::Problem);
    let fix = findings[0].fix.as_deref().unwrap();
    assert!(fix.contains("--queue-name shop-a-dead "), "{fix}");
    wanted.has_dead_letters = false;
    let findings = of_queues(all(&survey, &wanted));
    assert_eq!(findings[0].status, FindingStatus::Good);
}

#[test]
fn what_was_not_looked_at_is_said() {
    let settings = settings("sqs://eu-west-1/", "");
    let mut survey = survey(Vec::new());
    survey.plan.strangers = 7;
    survey.plan.beyond = 3;
    survey.plan.is_cut = true;
    let findings = of_queues(all(&survey, &wanted(&settings)));
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(findings[0].status, FindingStatus::Unknown);
    assert_eq!(
        findings[0].found,
        "not looked at: 3 more queues, since no more than 50 are looked at; those beyond the first 1000 \
         names; 7 queues that nothing tells from those of other programs, since there is no prefix"
    );
}

#[test]
fn a_queue_that_could_not_be_looked_for_is_not_called_missing() {
    let settings = settings("sqs://eu-west-1/shop-", "");
    let silent = || What::Unknown(Fault::new(Meaning::Unknown, "look", "timeout"));
    let survey = survey(vec![pair("a", silent(), silent())]);
    let findings = of_queues(all(&survey, &wanted(&settings)));
    let statuses: Vec<_> = findings.iter().map(|finding| finding.status).collect();
    assert_eq!(statuses, [FindingStatus::Unknown], "{findings:#?}");
}

#[test]
fn many_names_are_cut() {
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    assert_eq!(named(names[..1].iter().copied()), "`a`");
    assert_eq!(
        named(names.iter().copied()),
        "`a`, `b`, `c`, `d`, `e` and 2 more"
    );
}
