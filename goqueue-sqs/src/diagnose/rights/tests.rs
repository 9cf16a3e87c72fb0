use goqueue_core::driver::FindingStatus;

use super::*;
use crate::diagnose::tests::{settings, wanted};

fn rights(refused: &[&'static str]) -> Rights {
    let mut rights = Rights::default();
    for action in [LIST, URL, ATTRIBUTES, SEND, DELETE, HIDE] {
        let denied = Fault::new(Meaning::Denied, "try", "AccessDenied: no");
        let is_refused = refused.contains(&action);
        rights.note(action, is_refused.then_some(&denied));
    }
    rights
}

#[test]
fn what_is_refused_is_named_and_judged_by_who_needs_it() {
    let settings = settings("sqs://eu-west-1/shop-", "");
    let of = |refused: &[&'static str]| permissions(&rights(refused), &wanted(&settings));
    for (refused, status) in [
        (&[][..], FindingStatus::Good),
        (&[LIST], FindingStatus::Warning),
        (&[LIST, ATTRIBUTES], FindingStatus::Warning),
        (&[DELETE, HIDE], FindingStatus::Warning),
        (&[DELETE], FindingStatus::Problem),
        (&[SEND, DELETE, HIDE], FindingStatus::Problem),
        (&[URL], FindingStatus::Problem),
    ] {
        assert_eq!(of(refused).status, status, "{refused:?}");
    }
    let refused = of(&[HIDE, SEND]);
    assert_eq!(
        refused.found,
        "refused: `sqs:SendMessage`, `sqs:ChangeMessageVisibility` (AccessDenied: no)"
    );
    assert_eq!(
        refused.fix.as_deref(),
        Some(
            "allow `sqs:SendMessage`, `sqs:ChangeMessageVisibility` on \
             `arn:aws:sqs:eu-west-1:ACCOUNT:shop-*` in the policy of the user or role"
        )
    );
}

#[test]
fn what_could_not_be_tried_is_said() {
    let settings = settings("sqs://eu-west-1/shop-", "create_queues = true");
    let tried = permissions(&rights(&[]), &wanted(&settings));
    assert!(
        tried.found.ends_with(
            "`sqs:ReceiveMessage` and `sqs:CreateQueue` cannot be tried without a trace"
        ),
        "{tried:?}"
    );
    let mut only_listed = Rights::default();
    only_listed.note(LIST, None);
    // A call that failed for another reason tells nothing.
    let broken = Fault::new(Meaning::Unknown, "try", "timeout");
    only_listed.note(SEND, Some(&broken));
    assert_eq!(
        permissions(&only_listed, &wanted(&settings)).found,
        "nothing that can be tried without a queue is refused: `sqs:ListQueues`"
    );
}
