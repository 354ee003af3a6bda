//! [`Log`]: what was read of audit logs.
use super::entry::Entry;
use super::finding::Finding;
use std::io::BufRead;

/// What was read of one log, or of several.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// How many entries.
    pub(super) entries: usize,
    /// How many of them are the operator's.
    pub(super) its: usize,
    /// Where operators are that others of them are of.
    pub(super) others: Vec<String>,
    /// What there is to say of its entries.
    pub(super) found: Vec<Finding>,
    /// Lines that are no entries, each with the reason.
    pub(super) broken: Vec<String>,
    /// Logs that end in the middle of a line: it is being written, or the disk was full.
    pub(super) cut: Vec<String>,
}

impl Log {
    /// Reads a log to its end, whatever single lines are like: one that is broken must not hide those after it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn read(&mut self, name: &str, mut from: impl BufRead, operator: &str) -> std::io::Result<()> {
        let mut line = Vec::new();
        for at in 1.. {
            line.clear();
            if from.read_until(b'\n', &mut line)? == 0 {
                break;
            }
            let text = String::from_utf8_lossy(&line);
            if text.trim().is_empty() {
                continue;
            }
            match serde_json::from_str::<Entry>(&text) {
                Ok(entry) if entry.is_one() => self.take(entry, operator),
                Ok(_) => self.broken.push(format!("{name}: line {at}: it is no entry of an audit log")),
                Err(error) if error.is_eof() && !line.ends_with(b"\n") => {
                    self.cut.push(format!("{name}: line {at}, the last, is cut short and was left out"));
                }
                Err(error) => self.broken.push(format!("{name}: line {at}: {error}")),
            }
        }
        Ok(())
    }

    fn take(&mut self, entry: Entry, operator: &str) {
        self.entries += 1;
        if entry.is_of(operator) {
            self.its += 1;
            self.found.extend(Finding::of(entry, operator));
        } else if let Some(namespace) = entry.operator()
            && !self.others.iter().any(|n| n == namespace)
        {
            self.others.push(namespace.to_owned());
        }
    }

    /// Why it is no answer to what was asked, whatever was found: lines that nobody judged, or none that is the operator's.
    pub(super) fn fault(&self, operator: &str) -> Option<String> {
        if let Some(first) = self.broken.first() {
            let more = self.broken.len() - 1;
            return Some(if more == 0 {
                first.clone()
            } else {
                format!("{first}; and {more} more lines are no entries")
            });
        }
        if self.its > 0 {
            return None;
        }
        let none = format!("none of {} entries is of {operator}", self.entries);
        let others: Vec<_> = self.others.iter().map(|n| format!("--namespace {n}")).collect();
        Some(if others.is_empty() {
            format!("{none}: is it the log of the API server that it asks, and does the audit policy record it?")
        } else {
            format!("{none}; there are some of operators elsewhere: give {}", others.join(" or "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{OPERATOR, entry, read};
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case::no_json("x", "expected value")]
    #[case::another_object("{}", "no entry of an audit log")]
    #[case::an_object_of_the_cluster(r#"{"apiVersion":"v1","kind":"Event"}"#, "no entry of an audit log")]
    #[case::another_shape(r#"{"apiVersion":"audit.k8s.io/v1","kind":"Event","stage":1}"#, "invalid type")]
    #[case::cut_in_the_middle("{\"kind\":", "EOF")]
    fn a_line_that_is_no_entry_is_named_and_hides_no_other(#[case] line: &str, #[case] why: &str) {
        let alarm = entry("get", "secrets", "creds", json!({}));
        let log = read(&format!("\n{alarm}\n{line}\n{alarm}\n"), OPERATOR);
        assert_eq!((log.entries, log.found.len(), log.cut.len()), (2, 2, 0), "{log:?}");
        let fault = log.fault(OPERATOR).unwrap();
        assert!(fault.starts_with("a.log: line 3: ") && fault.contains(why), "{fault}");
    }

    #[test]
    fn a_last_line_that_is_cut_fails_nothing() {
        let whole = entry("patch", "roles", "banlieue-provider-vsphere-ü", json!({}));
        for end in (1..whole.len()).filter(|end| whole.as_bytes()[..*end].ends_with(b"\xc3") || end % 9 == 1) {
            let mut text = format!("{whole}\n").into_bytes();
            text.extend(&whole.as_bytes()[..end]);
            let mut log = super::Log::default();
            log.read("a.log", text.as_slice(), OPERATOR).unwrap();
            assert_eq!((log.found.len(), log.fault(OPERATOR)), (1, None), "{end}: {log:?}");
            assert!(log.cut[0].starts_with("a.log: line 2, the last, is cut short"), "{log:?}");
        }
        let uncut = read(&format!("{whole}\n{whole}"), OPERATOR);
        assert_eq!((uncut.found.len(), uncut.cut.len()), (2, 0), "the end of a file is no cut");
    }

    #[test]
    fn where_nothing_is_of_the_operator_that_is_said() {
        let nothing = read("", OPERATOR).fault(OPERATOR).unwrap();
        assert!(nothing.starts_with(&format!("none of 0 entries is of {OPERATOR}: ")), "{nothing}");
        let line = entry("update", "leases", "banlieue-operator", json!({}));
        let elsewhere = OPERATOR.replace("banlieue-system", "infra");
        let found = read(&line, &elsewhere).fault(&elsewhere).unwrap();
        assert!(found.contains(&elsewhere) && found.ends_with("give --namespace banlieue-system"), "{found}");
        // whoever acts under its name is of it, too
        let feigned = entry(
            "get",
            "pods",
            "p",
            json!({ "user": { "username": "a" }, "impersonatedUser": { "username": OPERATOR } }),
        );
        assert_eq!(read(&feigned, OPERATOR).fault(OPERATOR), None);
    }
}
