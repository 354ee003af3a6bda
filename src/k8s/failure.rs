//! Failures of the API in words for people.
use kube::runtime::watcher;
use std::error::Error;

/// What an API call failed of: the API's own words where it gave any, else the innermost cause.
pub fn words(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        kube::Error::Api(status) => format!("{} ({})", status.reason, status.code),
        other => root_cause(other),
    }
}

/// As [`words`], for a line that somebody reads: of many lines (each rule that a person may not grant is one) the first few.
pub fn few_words(error: &kube::Error) -> String {
    const LINES: usize = 3;
    let words = words(error);
    let more = words.lines().count().saturating_sub(LINES);
    let first: Vec<_> = words.lines().take(LINES).collect();
    if more == 0 { words } else { format!("{}, and {more} more", first.join(" ")) }
}

/// What a watch failed of, in one line.
pub fn of_watch(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => words(error),
        watcher::Error::WatchError(status) => status.message.clone(),
        other => root_cause(other),
    }
}

/// The innermost cause: the outer ones only say that there is one.
pub(super) fn root_cause(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(inner) = innermost.source() {
        innermost = inner;
    }
    match innermost.to_string() {
        // what a connection that takes too long is called further down
        text if text == "deadline has elapsed" => "it took too long".into(),
        text => text,
    }
}

/// What to do about it, where that can be told from the answer.
pub fn remedy(error: &kube::Error) -> &'static str {
    let kube::Error::Api(status) = error else {
        return "see whether the API server is still there, then run the command again";
    };
    let says = |words: &str| status.message.contains(words);
    match status.code {
        401 => "log in again, then run the command again",
        403 if says("being terminated") => "wait until the namespace is gone, then run the command again",
        403 if says("attempting to grant") || says("cannot ") => {
            "ask somebody with the rights of a cluster administrator to run the command"
        }
        404 => "somebody deletes it at the same time; run the command again",
        409 => "somebody changes it at the same time; run the command again",
        422 if says("immutable") || says("cannot change roleRef") => {
            "this part of it cannot be changed: delete the object, then run the command again"
        }
        429 | 500..=599 => "the API server is busy or has a fault of its own; run the command again in a moment",
        _ => "remove the cause, then run the command again",
    }
}

#[cfg(test)]
mod tests {
    use super::few_words;
    use kube::core::Status;

    #[test]
    fn nobody_reads_thirty_rules() {
        let said =
            |message: &str| few_words(&kube::Error::Api(Status::failure(message, "Forbidden").with_code(403).boxed()));
        assert_eq!(said("no\nnever"), "no\nnever");
        assert_eq!(said("not held:\n{a}\n{b}\n{c}\n{d}"), "not held: {a} {b}, and 2 more");
    }
}
