use super::*;

/// A name on SQS, with these attributes.
pub(crate) fn there(on_sqs: &str, is_dead: bool, attributes: &[(Attribute, &str)]) -> Spot {
    let owned = attributes
        .iter()
        .map(|(name, value)| (name.clone(), (*value).to_owned()));
    Spot {
        on_sqs: on_sqs.into(),
        is_dead,
        what: What::There {
            url: format!("http://sqs/1/{on_sqs}"),
            attributes: Ok(owned.collect()),
        },
    }
}

/// A queue of goqueue of which there is this.
pub(crate) fn pair(name: &str, jobs: What, dead: What) -> Pair {
    let spot = |on_sqs: String, is_dead, what| Spot {
        on_sqs,
        is_dead,
        what,
    };
    Pair {
        name: QueueName::new(name).unwrap(),
        is_wanted: false,
        jobs: spot(format!("shop-{name}"), false, jobs),
        dead: spot(format!("shop-{name}-dead"), true, dead),
    }
}

pub(crate) fn survey(pairs: Vec<Pair>) -> Survey {
    Survey {
        pairs,
        plan: Plan::default(),
        unlisted: None,
    }
}

fn plan(prefix: &str, is_fifo: bool, listed: &[&str], wanted: &[&str]) -> (Plan, Vec<String>) {
    let names = Names {
        prefix: prefix.into(),
        is_fifo,
    };
    let listed = listed
        .iter()
        .map(|name| ((*name).to_owned(), format!("http://sqs/1/{name}")));
    let wanted: Vec<_> = wanted
        .iter()
        .map(|name| QueueName::new(*name).unwrap())
        .collect();
    let plan = Plan::of(&listed.collect(), &names, &wanted, false);
    let candidates = plan.candidates.iter().map(ToString::to_string).collect();
    (plan, candidates)
}

#[test]
fn queues_with_the_prefix_are_looked_at_once_and_those_of_the_other_kind_told() {
    let listed = [
        "shop-a",
        "shop-a-dead",
        "shop-b-dead",
        "shop-c.fifo",
        "shop-c-dead.fifo",
    ];
    let (plan, candidates) = plan("shop-", false, &listed, &["z", "b"]);
    assert_eq!(
        candidates,
        ["z", "b", "a"],
        "those of the configuration first"
    );
    assert_eq!(plan.other_kind, ["shop-c-dead.fifo", "shop-c.fifo"]);
    assert_eq!((plan.beyond, plan.strangers), (0, 0));
}

#[test]
fn without_a_prefix_only_what_surely_is_of_goqueue_is_looked_at() {
    let listed = ["invoices", "mail", "mail-dead", "web", "other.fifo"];
    let (plan, candidates) = plan("", false, &listed, &["web"]);
    assert_eq!(candidates, ["web", "mail"]);
    assert_eq!(plan.strangers, 1);
    assert!(plan.other_kind.is_empty(), "{plan:?}");
}

#[test]
fn there_is_an_end_to_it() {
    let listed: Vec<String> = (0..70).map(|number| format!("shop-q{number:02}")).collect();
    let listed: Vec<&str> = listed.iter().map(String::as_str).collect();
    let (plan, candidates) = plan("shop-", false, &listed, &["q69"]);
    assert_eq!((candidates.len(), plan.beyond), (MOST, 70 - MOST));
    assert_eq!(candidates[0], "q69");
}

#[test]
fn a_name_that_no_queue_can_have_is_told() {
    let (plan, candidates) = plan("shop-", true, &[], &["mail-dead", "mail"]);
    assert_eq!(candidates, ["mail"]);
    assert!(plan.unusable[0].contains("`mail-dead`"), "{plan:?}");
}

#[test]
fn without_a_listing_the_default_queue_is_looked_at() {
    let names = Names {
        prefix: "shop-".into(),
        is_fifo: false,
    };
    let plan = Plan::of(&BTreeMap::new(), &names, &[], true);
    assert_eq!(plan.candidates, [QueueName::new("default").unwrap()]);
    let none = Plan::of(&BTreeMap::new(), &names, &[], false);
    assert_eq!(none, Plan::default());
}
