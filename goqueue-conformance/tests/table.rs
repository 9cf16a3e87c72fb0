//! No clause without a case, and a README that lists what there is.

use std::{collections::HashSet, path::Path};

use goqueue_conformance::{CASES, Case, Clause, check_table, mutants::MUTANTS};

#[test]
fn every_clause_has_a_case() {
    for clause in Clause::ALL {
        let count = CASES.iter().filter(|case| case.clause == clause).count();
        assert!(count > 0, "no case checks {clause}");
    }
}

#[test]
fn no_case_is_listed_twice() {
    let names: HashSet<_> = CASES.iter().map(|case| (case.clause, case.name)).collect();
    assert_eq!(names.len(), CASES.len());
}

#[test]
fn every_clause_has_a_mutant_that_its_cases_catch() {
    for clause in Clause::ALL {
        let is_broken = MUTANTS.iter().any(|mutant| mutant.clause == clause);
        assert!(is_broken, "no mutant breaks {clause}");
    }
    for mutant in MUTANTS {
        let case = Case::named(mutant.clause, mutant.case);
        assert!(
            case.is_some(),
            "{mutant:?} is meant for a case that does not exist"
        );
    }
}

#[test]
fn the_readme_lists_the_cases() {
    check_table(&Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md"));
}
