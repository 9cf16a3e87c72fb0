//! What may stand to the right of a `=`, and the rule that each kind of value keeps.

use std::{fmt::Display, time::Duration};

use syn::{Error, Expr, ExprLit, ExprUnary, Lit, LitStr, Path, Result, UnOp};

/// The value of one attribute, and how that attribute is written.
pub(crate) struct Value {
    pub(crate) expr: Expr,
    pub(crate) attribute: &'static str,
    pub(crate) example: &'static str,
}

/// The schedules that `backoff` can name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backoff {
    Exponential,
    Constant,
}

impl Value {
    pub(crate) fn text(&self) -> Result<&LitStr> {
        match self.literal() {
            Some((false, Lit::Str(text))) => Ok(text),
            _ => Err(self.wrong_kind()),
        }
    }

    pub(crate) fn flag(&self) -> Result<bool> {
        match self.literal() {
            Some((false, Lit::Bool(flag))) => Ok(flag.value),
            _ => Err(self.wrong_kind()),
        }
    }

    pub(crate) fn job_name(&self) -> Result<String> {
        let name = self.text()?.value();
        job_name(&name).map_err(|problem| self.error(problem))?;
        Ok(name)
    }

    pub(crate) fn queue_name(&self) -> Result<String> {
        let name = self.text()?.value();
        queue_name(&name).map_err(|problem| self.error(problem))?;
        Ok(name)
    }

    pub(crate) fn attempts(&self) -> Result<u32> {
        let (negative, Lit::Int(number)) = self.literal().ok_or_else(|| self.wrong_kind())? else {
            return Err(self.wrong_kind());
        };
        match number.base10_parse::<u32>() {
            Ok(attempts @ 1..) if !negative => Ok(attempts),
            _ => {
                let (sign, digits) = (if negative { "-" } else { "" }, number.base10_digits());
                let allowed = format!("1 to {} (it counts the first run)", u32::MAX);
                Err(self.out_of_range(format!("{sign}{digits}"), &allowed))
            }
        }
    }

    /// A number of at least `least`, and at most `most` where that is given.
    pub(crate) fn number(&self, least: f64, most: Option<f64>) -> Result<f64> {
        let (negative, literal) = self.literal().ok_or_else(|| self.wrong_kind())?;
        let number: f64 = match literal {
            Lit::Float(number) => number.base10_parse()?,
            Lit::Int(number) => number.base10_parse()?,
            _ => return Err(self.wrong_kind()),
        };
        let number = if negative { -number } else { number };
        if number.is_finite() && number >= least && most.is_none_or(|most| number <= most) {
            return Ok(number);
        }
        let allowed = match most {
            Some(most) => format!("{least:?} to {most:?}"),
            None => format!("{least:?} or more"),
        };
        Err(self.out_of_range(number, &allowed))
    }

    /// A duration in whole milliseconds, which is what is stored.
    pub(crate) fn duration(&self) -> Result<Duration> {
        let text = self.text()?.value();
        let duration = humantime::parse_duration(&text).map_err(|_| {
            self.error(format!(
                "invalid duration `{text}`: expected one with its unit, such as \"500ms\", \
                 \"30s\", \"5m\" or \"1h 30m\""
            ))
        })?;
        if duration.subsec_nanos().is_multiple_of(1_000_000) {
            return Ok(duration);
        }
        Err(self.error(format!(
            "invalid duration `{text}`: allowed are whole milliseconds"
        )))
    }

    pub(crate) fn positive_duration(&self) -> Result<Duration> {
        let duration = self.duration()?;
        if duration > Duration::ZERO {
            return Ok(duration);
        }
        Err(self.out_of_range("zero", "1ms or more; leave it out for none"))
    }

    pub(crate) fn backoff(&self) -> Result<Backoff> {
        match self.text()?.value().as_str() {
            "exponential" => Ok(Backoff::Exponential),
            "constant" => Ok(Backoff::Constant),
            other => Err(self.error(format!(
                "unknown backoff `{other}`: allowed are `exponential` and `constant`"
            ))),
        }
    }

    pub(crate) fn path(&self) -> Result<Path> {
        let text = self.text()?;
        text.parse_with(Path::parse_mod_style).map_err(|_| {
            self.error(format!(
                "`{}` is no path: write it as `{}`",
                text.value(),
                self.example
            ))
        })
    }

    fn out_of_range(&self, given: impl Display, allowed: &str) -> Error {
        self.error(format!(
            "`{}`: got {given}, allowed is {allowed}",
            self.attribute
        ))
    }

    fn error(&self, problem: impl Display) -> Error {
        Error::new_spanned(&self.expr, problem)
    }

    /// The literal and whether a minus stands before it. A literal that came through a
    /// `macro_rules!` fragment is wrapped in a group.
    fn literal(&self) -> Option<(bool, &Lit)> {
        match ungrouped(&self.expr) {
            Expr::Lit(ExprLit { lit, .. }) => Some((false, lit)),
            Expr::Unary(ExprUnary {
                op: UnOp::Neg(_),
                expr,
                ..
            }) => match ungrouped(expr) {
                Expr::Lit(ExprLit { lit, .. }) => Some((true, lit)),
                _ => None,
            },
            _ => None,
        }
    }

    fn wrong_kind(&self) -> Error {
        self.error(format!(
            "wrong kind of value: write it as `{}`",
            self.example
        ))
    }
}

fn ungrouped(mut expr: &Expr) -> &Expr {
    while let Expr::Group(group) = expr {
        expr = &group.expr;
    }
    expr
}

/// The rule for job names, in the words that the core has for it at run time.
pub(crate) fn job_name(name: &str) -> std::result::Result<(), String> {
    if is_name(name, 128, b"_-.:/") {
        return Ok(());
    }
    Err(format!(
        "invalid job name `{name}`: 1 to 128 ASCII letters, digits, `_`, `-`, `.`, `:` or `/`"
    ))
}

fn queue_name(name: &str) -> std::result::Result<(), String> {
    if is_name(name, 64, b"_-.") {
        return Ok(());
    }
    Err(format!(
        "invalid queue name `{name}`: 1 to 64 ASCII letters, digits, `_`, `-` or `.`"
    ))
}

fn is_name(name: &str, longest: usize, others: &[u8]) -> bool {
    (1..=longest).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || others.contains(&b))
}
