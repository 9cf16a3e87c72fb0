//! Keys that are computed from the job.

use proc_macro2::TokenStream;
use quote::quote_spanned;
use syn::{Error, Expr, ExprReference, LitStr, Result, Token};

use crate::value::Value;

/// A Rust expression that was written in quotes, with `self` as the job.
pub(crate) struct KeyExpression {
    source: LitStr,
    expr: Expr,
}

impl KeyExpression {
    pub(crate) fn read(value: &Value) -> Result<Self> {
        let source = value.text()?.clone();
        match source.parse::<Expr>() {
            Ok(expr) => Ok(Self { source, expr }),
            Err(problem) => {
                let message = format!(
                    "`{}` is no Rust expression ({problem}): write it as `{}`",
                    source.value(),
                    value.example,
                );
                Err(Error::new(source.span(), message))
            }
        }
    }

    /// The key as a `String`.
    pub(crate) fn evaluated(&self) -> TokenStream {
        let span = self.source.span();
        // Borrowed, so that a key may name a field without moving it out of the job.
        let key = ExprReference {
            attrs: Vec::new(),
            and_token: Token![&](span),
            mutability: None,
            expr: Box::new(self.expr.clone()),
        };
        quote_spanned!(span=> ::std::string::ToString::to_string(#key))
    }
}
