use goqueue::driver::{self, Finding, FindingStatus};

use crate::{
    args::{Global, Output},
    backend,
    failure::{Failure, Result},
    output::{
        self,
        human::plain,
        json,
        style::{self, BOLD, RED, RESET},
    },
};

pub(super) async fn run(global: &Global, output: Output) -> Result {
    let config = backend::config(global)?;
    let mut findings = Vec::new();
    match driver::check(&config) {
        Ok(()) => findings.push(Finding::good("configuration", "every setting can be used")),
        Err(error) => findings.push(Finding::problem(
            "configuration",
            error.to_string(),
            "correct the setting; `goqueue config check` shows who set what",
        )),
    }
    if findings[0].status == FindingStatus::Good {
        match driver::diagnose(&config).await {
            Ok(found) => findings.extend(found),
            Err(error) => findings.push(Finding::unknown(
                "backend",
                Failure::from(error).text(),
                "look at the backend with its own tools",
            )),
        }
    }
    let driver = config.driver.to_string();
    if output.json {
        let lines = findings.iter().map(json::FindingLine::new).collect();
        output::json(&json::Doctor {
            driver,
            findings: lines,
        })?;
    } else {
        output::text(&report(&driver, &findings))?;
    }
    if findings
        .iter()
        .any(|finding| finding.status == FindingStatus::Problem)
    {
        return Err(Failure::said());
    }
    Ok(())
}

fn report(driver: &str, findings: &[Finding]) -> String {
    let has_colour = style::has_colour(&std::io::stdout());
    let widest = findings.iter().map(|finding| finding.check.len()).max();
    let widest = widest.unwrap_or_default();
    let mut text = format!("{driver}\n\n");
    for finding in findings {
        let (on, off) = match finding.status {
            FindingStatus::Problem if has_colour => (RED, RESET),
            FindingStatus::Warning if has_colour => (BOLD, RESET),
            _ => ("", ""),
        };
        let (status, check) = (finding.status, finding.check);
        let found = plain(&finding.found);
        text += &format!("{on}{status:<7}{off}  {check:<widest$}  {found}\n");
        if let Some(fix) = &finding.fix {
            text += &format!("{:<7}  {:<widest$}  -> {}\n", "", "", plain(fix));
        }
    }
    let count = |status| {
        findings
            .iter()
            .filter(|finding| finding.status == status)
            .count()
    };
    text += &format!(
        "\n{} good, {} unknown, {} to watch, {} to mend\n",
        count(FindingStatus::Good),
        count(FindingStatus::Unknown),
        count(FindingStatus::Warning),
        count(FindingStatus::Problem),
    );
    text
}
