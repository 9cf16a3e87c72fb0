//! No clause without a case, and a README that lists what there is.

use std::{collections::HashSet, path::Path};

use goqueue_conformance::{
    CASES, Case, Clause, check_table,
    log::{LOG_CASES, LOG_MUTANTS, LogCase, LogClause, check_log_table},
    mutants::MUTANTS,
};

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
fn every_clause_of_the_log_has_a_case_and_a_mutant() {
    for clause in LogClause::ALL {
        let is_checked = LOG_CASES.iter().any(|case| case.clause == *clause);
        assert!(is_checked, "no case checks {clause}");
        let is_broken = LOG_MUTANTS.iter().any(|mutant| mutant.clause == *clause);
        assert!(is_broken, "no mutant breaks {clause}");
    }
    for mutant in LOG_MUTANTS {
        let case = LogCase::named(mutant.clause, mutant.case);
        assert!(
            case.is_some(),
            "{mutant:?} is meant for a case that does not exist"
        );
    }
}

/// One test, as both tables are written into the same file.
#[test]
fn the_readme_lists_the_cases() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    check_table(&readme);
    check_log_table(&readme);
}
