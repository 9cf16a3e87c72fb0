//! What servers say about themselves: `INFO`, of one server or of every node.

use redis::{Cmd, Value};

use crate::{connection::Connection, error::Operation};

/// The answers to `INFO`, one per node that answered.
pub(super) struct Info {
    nodes: Vec<Node>,
    /// Why there are none, or not all.
    pub(super) refused: Option<String>,
}

pub(super) struct Node {
    /// Its address; empty where there is but one.
    pub(super) name: String,
    text: String,
}

impl Info {
    pub(super) async fn of(connection: &Connection, is_cluster: bool) -> Self {
        let mut info = Self {
            nodes: Vec::new(),
            refused: None,
        };
        for section in ["server", "memory", "persistence", "replication", "cluster"] {
            let mut cmd = Cmd::new();
            cmd.arg("INFO").arg(section);
            match connection.send(Operation::Connect, &cmd).await {
                Ok(Value::Map(nodes)) if is_cluster => {
                    for (name, text) in nodes {
                        info.add(text_of(&name), &text_of(&text));
                    }
                }
                Ok(text) => info.add(String::new(), &text_of(&text)),
                Err(failed) => info.refused = Some(failed.error.to_string()),
            }
        }
        info
    }

    #[cfg(test)]
    pub(super) fn from_texts(texts: &[(&str, &str)]) -> Self {
        let mut info = Self {
            nodes: Vec::new(),
            refused: None,
        };
        for (name, text) in texts {
            info.add((*name).into(), text);
        }
        info
    }

    fn add(&mut self, name: String, text: &str) {
        match self.nodes.iter_mut().find(|node| node.name == name) {
            Some(node) => node.text.push_str(text),
            None => self.nodes.push(Node {
                name,
                text: text.into(),
            }),
        }
    }

    /// The nodes, the masters first: they are those that serve.
    pub(super) fn masters(&self) -> impl Iterator<Item = &Node> {
        let has_master = self.nodes.iter().any(Node::is_master);
        let serves = move |node: &&Node| !has_master || node.is_master();
        self.nodes.iter().filter(serves)
    }
}

impl Node {
    fn is_master(&self) -> bool {
        self.field("role") != Some("slave")
    }

    pub(super) fn field(&self, name: &str) -> Option<&str> {
        let lines = self.text.lines().filter_map(|line| line.split_once(':'));
        lines
            .filter(|(key, _)| *key == name)
            .map(|(_, value)| value.trim())
            .next()
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.field(name)?.parse().ok()
    }

    /// " at 127.0.0.1:7000", where there are several.
    pub(super) fn place(&self) -> String {
        if self.name.is_empty() {
            return String::new();
        }
        format!(" at {}", self.name)
    }
}

/// One text, or those of all nodes.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::VerbatimString { text, .. } => text.clone(),
        Value::SimpleString(text) => text.clone(),
        Value::Map(nodes) => nodes.iter().map(|(_, text)| text_of(text)).collect(),
        Value::Array(items) => items.iter().map(text_of).collect(),
        _ => String::new(),
    }
}
