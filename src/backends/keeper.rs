//! [`Keeper`]: keeps one session while its target stays the same, and says what a probe has found.
use super::{Inventory, Meter, Session, Target, connect};
use crate::k8s::crd::{Aspect, Backend, BackendInfo, FailureDomain, Finding, FindingReason};

/// The one session of a provider's pod.
pub struct Keeper {
    backend: Backend,
    meter: Meter,
    open: Option<(Target, Box<dyn Session>)>,
}

/// What a probe has found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// One for each aspect that was looked at, in order. It stops at what makes going on useless.
    pub findings: Vec<Finding>,
    /// What the backend says of itself, where it was reached.
    pub info: Option<BackendInfo>,
    /// The failure domains, where they were asked for and could be read.
    pub domains: Option<Vec<FailureDomain>>,
    /// Whether it was reached and let us in.
    pub reached: bool,
}

/// How many failure domains the API takes.
const MOST_DOMAINS: usize = 128;

impl Keeper {
    /// A keeper without a session.
    pub fn new(backend: Backend, meter: Meter) -> Self {
        Self { backend, meter, open: None }
    }

    /// Probes the backend, over the session there is or a new one where the target has changed; `inventory` where the
    /// failure domains are wanted too.
    pub async fn probe(&mut self, target: &Target, inventory: bool) -> Outcome {
        let mut outcome = Outcome::default();
        if let Err(finding) = self.look(target, inventory, &mut outcome).await {
            outcome.findings.push(finding);
        }
        outcome
    }

    async fn look(&mut self, target: &Target, inventory: bool, outcome: &mut Outcome) -> Result<(), Finding> {
        let session = match self.session(target).await {
            Ok(session) => session,
            Err(finding) => {
                outcome.findings.extend(before(&finding, target));
                return Err(finding);
            }
        };
        let probe = match session.probe().await {
            Ok(probe) => probe,
            Err(finding) => {
                outcome.findings.extend(before(&finding, target));
                return Err(finding);
            }
        };
        outcome.findings.push(FindingReason::CredentialsFound.into());
        outcome.reached = true;
        outcome.info = Some(probe.info);
        outcome.findings.push(verification(target));
        outcome.findings.push(match (probe.untested, probe.about) {
            (Some(why), _) => Finding::new(FindingReason::VersionUntested, why),
            (None, Some(about)) => {
                Finding::new(FindingReason::BackendReached, format!("The backend answers: {about}."))
            }
            (None, None) => FindingReason::BackendReached.into(),
        });
        outcome.findings.push(FindingReason::LoggedIn.into());
        if inventory {
            let mut read = session.inventory().await.map_err(failed_inventory)?;
            outcome.findings.push(discovered(&mut read));
            outcome.domains = Some(read.domains);
        }
        Ok(())
    }

    async fn session(&mut self, target: &Target) -> Result<&mut Box<dyn Session>, Finding> {
        if self.open.as_ref().is_some_and(|(of, _)| of != target) {
            self.logout().await;
        }
        let open = match self.open.take() {
            Some(open) => open,
            None => (target.clone(), connect(self.backend, target, &self.meter)?),
        };
        Ok(&mut self.open.insert(open).1)
    }

    /// Gives the login back, if there is one.
    pub async fn logout(&mut self) {
        if let Some((_, mut session)) = self.open.take() {
            session.logout().await;
        }
    }
}

/// What must have been good for a failure to be met.
fn before(failure: &Finding, target: &Target) -> Vec<Finding> {
    use FindingReason::{AnswerTooLarge, BackendReached, BackendUnavailable, CredentialsFound};
    use FindingReason::{Redirected, UnexpectedAnswer, VerificationSkipped};
    let secret = CredentialsFound.into();
    let verified = verification(target);
    let answered = matches!(failure.reason, AnswerTooLarge | BackendUnavailable | Redirected | UnexpectedAnswer);
    match failure.reason.aspect() {
        Aspect::CredentialsValid => vec![],
        Aspect::Reachable if answered || verified.reason == VerificationSkipped => vec![secret, verified],
        Aspect::TLSVerified | Aspect::Reachable => vec![secret],
        _ => vec![secret, verified, BackendReached.into()],
    }
}

/// What the target says about TLS, once a connection stands.
fn verification(target: &Target) -> Finding {
    let scheme = target.endpoint.split(':').next().unwrap_or_default().to_ascii_lowercase();
    if scheme != "https" && !scheme.ends_with("+tls") {
        FindingReason::NotEncrypted.into()
    } else if target.insecure_skip_tls_verify {
        Finding::new(FindingReason::VerificationSkipped, "insecureSkipTLSVerify is set: the certificate is not checked")
    } else {
        FindingReason::CertificateVerified.into()
    }
}

/// Whatever ails the inventory shows in its own condition: the probe before it was good.
fn failed_inventory(cause: Finding) -> Finding {
    let message = match cause.message.as_str() {
        "" => cause.reason.means(),
        said => said,
    };
    Finding::new(FindingReason::InventoryFailed, message)
}

fn discovered(read: &mut Inventory) -> Finding {
    if read.domains.len() > MOST_DOMAINS {
        read.problems.push(format!("there are {}, of which the first {MOST_DOMAINS} are reported", read.domains.len()));
        read.domains.truncate(MOST_DOMAINS);
    }
    if !read.problems.is_empty() {
        const SHOWN: usize = 10;
        let reason = match read.domains.len() {
            0 => FindingReason::NoFailureDomains,
            _ => FindingReason::InventoryIncomplete,
        };
        let more = read.problems.len().saturating_sub(SHOWN);
        read.problems.truncate(SHOWN);
        let mut message = read.problems.join("; ");
        if more > 0 {
            message.push_str(&format!("; and {more} more"));
        }
        return Finding::new(reason, message);
    }
    match read.domains.len() {
        0 => FindingReason::NoFailureDomains.into(),
        1 => Finding::new(FindingReason::FailureDomainsFound, "1 failure domain"),
        n => Finding::new(FindingReason::FailureDomainsFound, format!("{n} failure domains")),
    }
}
