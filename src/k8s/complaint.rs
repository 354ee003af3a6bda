//! [`Complaint`]: one clear line about what goes on failing, not one a try.
use std::time::{Duration, Instant};

/// The same words are told again after this time.
const AGAIN: Duration = Duration::from_secs(60);
/// Other words are told after this time.
const OTHER: Duration = Duration::from_secs(10);

/// What was last complained of, and when.
#[derive(Debug, Default)]
pub struct Complaint(Option<(String, Instant)>);

impl Complaint {
    /// Takes in that it failed with these words; whether to say so.
    pub fn due(&mut self, words: &str, now: Instant) -> bool {
        let due = self
            .0
            .as_ref()
            .is_none_or(|(told, at)| now.saturating_duration_since(*at) >= if told == words { AGAIN } else { OTHER });
        if due {
            self.0 = Some((words.to_owned(), now));
        }
        due
    }

    /// Takes in that it works; whether that is news.
    pub fn over(&mut self) -> bool {
        self.0.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_then_once_a_minute_and_then_that_it_is_over() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let mut complaint = Complaint::default();
        let told = (0..120).filter(|s| complaint.due("no", start + second * *s)).count();
        assert_eq!(told, 2);
        assert!(complaint.over());
        assert!(!complaint.over());
        // words that never repeat do not flood either
        let told = (0..120).filter(|s| complaint.due(&s.to_string(), start + second * *s)).count();
        assert_eq!(told, 12);
    }
}
