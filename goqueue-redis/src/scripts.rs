//! The Lua scripts, one per verb, with the shared parts that each of them needs in front.

use std::sync::LazyLock;

use redis::{Cmd, Script};

use crate::error::Operation;

/// One script and what it is for.
pub(crate) struct Verb {
    pub(crate) operation: Operation,
    source: &'static str,
    script: LazyLock<Script>,
}

impl Verb {
    /// The command that runs the script by its digest, or with its text where the server does not
    /// know it yet.
    pub(crate) fn command(&self, with_text: bool, keys: &[&str], args: &Args<'_>) -> Cmd {
        let mut cmd = Cmd::with_capacity(3 + keys.len() + args.0.len(), args.size() + 1024);
        if with_text {
            cmd.arg("EVAL").arg(self.source);
        } else {
            cmd.arg("EVALSHA").arg(self.script.get_hash());
        }
        cmd.arg(keys.len()).arg(keys);
        for arg in &args.0 {
            match arg {
                Arg::Bytes(bytes) => cmd.arg(*bytes),
                Arg::Owned(bytes) => cmd.arg(bytes.as_slice()),
                Arg::Number(number) => cmd.arg(*number),
            };
        }
        cmd
    }
}

/// The arguments of one call after its keys.
#[derive(Default)]
pub(crate) struct Args<'a>(Vec<Arg<'a>>);

enum Arg<'a> {
    Bytes(&'a [u8]),
    Owned(Vec<u8>),
    Number(u64),
}

impl<'a> Args<'a> {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self(Vec::with_capacity(capacity))
    }

    pub(crate) fn bytes(&mut self, bytes: &'a (impl AsRef<[u8]> + ?Sized)) -> &mut Self {
        self.0.push(Arg::Bytes(bytes.as_ref()));
        self
    }

    pub(crate) fn owned(&mut self, bytes: Vec<u8>) -> &mut Self {
        self.0.push(Arg::Owned(bytes));
        self
    }

    pub(crate) fn number(&mut self, number: u64) -> &mut Self {
        self.0.push(Arg::Number(number));
        self
    }

    fn size(&self) -> usize {
        let size = |arg: &Arg<'_>| match arg {
            Arg::Bytes(bytes) => bytes.len(),
            Arg::Owned(bytes) => bytes.len(),
            Arg::Number(_) => 20,
        };
        self.0.iter().map(size).sum()
    }
}

macro_rules! verbs {
    ($($(#[doc = $doc:literal])* $name:ident = $operation:ident: $($part:literal)+;)+) => {
        $(
            $(#[doc = $doc])*
            pub(crate) static $name: Verb = Verb {
                operation: Operation::$operation,
                source: concat!($(include_str!(concat!("lua/", $part, ".lua"))),+),
                script: LazyLock::new(|| Script::new($name.source)),
            };
        )+

        #[cfg(test)]
        const ALL: &[&Verb] = &[$(&$name),+];
    };
}

verbs! {
    PUSH = Push: "time" "wake" "push";
    PUSH_HELD = Push: "time" "wake" "push_held";
    PUSH_KEYED = Push: "time" "wake" "unique" "lanes" "push_keyed";
    RESERVE = Reserve: "time" "record" "upkeep" "reserve";
    EXTEND = Extend: "time" "wake" "extend";
    SETTLE = Settle: "time" "wake" "record" "unique" "lanes" "settle";
    MAINTAIN = Maintain: "time" "wake" "upkeep" "maintain";
    STATS = Inspect: "time" "stats";
    PEEK_READY = Inspect: "time" "peek_ready";
    PEEK_BY_TIME = Inspect: "time" "peek_by_time";
    DEAD_LIST = Inspect: "dead_list";
    DEAD_REQUEUE = Inspect: "time" "wake" "record" "unique" "lanes" "dead_requeue";
    DEAD_DELETE = Inspect: "dead_delete";
    DEAD_STORE = DeadLetter: "time" "dead_store";
    PURGE = Inspect: "time" "record" "lanes" "upkeep" "purge";
    DIAGNOSE = Inspect: "time" "diagnose";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_says_what_it_takes() {
        for verb in ALL {
            assert!(verb.source.contains("\n-- KEYS  1 "), "{}", verb.source);
            assert!(verb.source.contains("\n-- ARGV  "), "{}", verb.source);
        }
    }

    #[test]
    fn no_script_builds_a_key() {
        // What a call touches is a key it was given: never a text, and nothing put together.
        for verb in ALL {
            for line in verb
                .source
                .lines()
                .filter(|line| line.contains("redis.call("))
            {
                let call = line.split_once("redis.call(").map_or("", |(_, call)| call);
                let key = call.split(',').nth(1).unwrap_or("").trim();
                assert!(!key.starts_with(['\'', '"']), "{line}");
                assert!(!key.contains(".."), "{line}");
            }
        }
    }
}
