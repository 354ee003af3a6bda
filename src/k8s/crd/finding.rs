//! [`Finding`]: what a provider's pod has found out about one aspect of its backend. Reasons are API, as conditions show them.
use super::ConditionStatus;

/// The conditions that a provider's pod writes, in the order in which it finds them out; Ready sums them up.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Aspect {
    /// The Secret is there and has what the backend needs.
    CredentialsValid,
    /// The backend's certificate was checked and is good.
    TLSVerified,
    /// The backend answers, in its own language.
    Reachable,
    /// The backend let us in.
    Authenticated,
    /// The places that fail on their own are known.
    FailureDomainsDiscovered,
    /// The backend can be used.
    Ready,
}

impl Aspect {
    /// All of them, in order.
    pub const ALL: [Aspect; 6] = [
        Aspect::CredentialsValid,
        Aspect::TLSVerified,
        Aspect::Reachable,
        Aspect::Authenticated,
        Aspect::FailureDomainsDiscovered,
        Aspect::Ready,
    ];

    /// The `type` of its condition.
    pub const fn as_str(self) -> &'static str {
        match self {
            Aspect::CredentialsValid => "CredentialsValid",
            Aspect::TLSVerified => "TLSVerified",
            Aspect::Reachable => "Reachable",
            Aspect::Authenticated => "Authenticated",
            Aspect::FailureDomainsDiscovered => "FailureDomainsDiscovered",
            Aspect::Ready => "Ready",
        }
    }
}

/// When to try again after a finding.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Retry {
    /// At the next regular probe.
    Regularly,
    /// In seconds, growing: the network or the backend is away.
    Soon,
    /// In minutes, growing, and at once when the credentials change: each try may bring an account closer to its lock-out.
    Sparingly,
}

macro_rules! findings {
    ($($name:ident, $aspect:ident, $status:ident, $retry:ident, $means:literal, $todo:literal;)*) => {
        /// Why a condition stands as it does. One reason belongs to one condition; Ready repeats the one that keeps it
        /// from being True, and NotChecked may stand in any.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub enum FindingReason { $(#[doc = $means] $name,)* }

        impl FindingReason {
            /// Every reason, in the order of the generated reference.
            pub const ALL: &'static [FindingReason] = &[$(FindingReason::$name,)*];

            /// The word of the API.
            pub const fn as_str(self) -> &'static str { match self { $(FindingReason::$name => stringify!($name),)* } }

            /// The condition it belongs to.
            pub const fn aspect(self) -> Aspect { match self { $(FindingReason::$name => Aspect::$aspect,)* } }

            /// The status it gives its condition.
            pub const fn status(self) -> ConditionStatus {
                match self { $(FindingReason::$name => ConditionStatus::$status,)* }
            }

            /// When to try again.
            pub const fn retry(self) -> Retry { match self { $(FindingReason::$name => Retry::$retry,)* } }

            /// What it means, in one sentence.
            pub const fn means(self) -> &'static str { match self { $(FindingReason::$name => $means,)* } }

            /// What a person can do about it; empty where there is nothing to do.
            pub const fn remedy(self) -> &'static str { match self { $(FindingReason::$name => $todo,)* } }
        }
    };
}

findings! {
    CredentialsFound, CredentialsValid, True, Regularly, "The Secret has what the backend needs.", "";
    SecretNotFound, CredentialsValid, False, Regularly, "The Secret of `spec.connection.credentialsRef` does not exist.", "Create it, or correct the name.";
    SecretUnreadable, CredentialsValid, False, Regularly, "The API server did not hand out the Secret.", "See the message; if it is a refusal, the Role of this Provider is missing or foreign.";
    SecretKeyMissing, CredentialsValid, False, Regularly, "The Secret lacks a key that the backend needs, or the key is empty.", "Add the key that the message names.";
    SecretKeyMalformed, CredentialsValid, False, Regularly, "A value of the Secret cannot be used: it is not of the form the backend needs, or has a control character in it, such as the newline that `echo` adds.", "Write it again as the message says, with `printf %s` or `kubectl create secret`.";
    CertificateVerified, TLSVerified, True, Regularly, "The backend's certificate is good.", "";
    VerificationSkipped, TLSVerified, False, Regularly, "The backend's certificate is not checked: `insecureSkipTLSVerify` is set.", "Give a `caBundle` and unset it.";
    NotEncrypted, TLSVerified, False, Regularly, "The endpoint is not encrypted: anyone on the way can read the credentials.", "Use the encrypted scheme of the backend.";
    CABundleNotFound, TLSVerified, False, Regularly, "The object or the key that `caBundle` names does not exist.", "Create it, or correct the reference.";
    CABundleInvalid, TLSVerified, False, Regularly, "The `caBundle` holds no certificate in PEM that can be trusted now.", "Put the certificate of the authority there, in PEM.";
    CertificateUntrusted, TLSVerified, False, Soon, "No trusted authority has signed the backend's certificate.", "Give the authority's certificate as `caBundle`.";
    CertificateExpired, TLSVerified, False, Soon, "The backend's certificate, or one above it, is out of its dates.", "Renew it, or set the clock right.";
    CertificateNameMismatch, TLSVerified, False, Soon, "The backend's certificate is for another name than the endpoint's.", "Use a name that the certificate has.";
    CertificateUnusable, TLSVerified, False, Soon, "The backend's certificate was refused for another cause; the message has it.", "Replace the certificate.";
    BackendReached, Reachable, True, Regularly, "The backend answers.", "";
    VersionUntested, Reachable, True, Regularly, "The backend answers, and its version is outside of what banlieue was tested with.", "Nothing, unless something misbehaves; then say so in the report.";
    EndpointInvalid, Reachable, False, Regularly, "The endpoint cannot be used by this backend.", "Correct `spec.connection.endpoint`.";
    BackendNotImplemented, Reachable, False, Regularly, "This build has no client for the backend.", "Use a build that has it.";
    NameNotResolved, Reachable, False, Soon, "The name of the endpoint has no address.", "Correct the endpoint, or the name service.";
    ConnectionRefused, Reachable, False, Soon, "Nothing listens at the endpoint.", "Check address, port and firewall.";
    ConnectionFailed, Reachable, False, Soon, "The connection could not be made, or broke off.", "Check route, port and firewall.";
    TimedOut, Reachable, False, Soon, "The backend did not answer in time.", "Check its load, and the firewall on the way.";
    BackendUnavailable, Reachable, False, Soon, "The backend says that it is not available now, as during maintenance.", "Wait, or look at the backend's own services.";
    NotTLS, Reachable, False, Soon, "What listens at the endpoint does not speak TLS.", "Check the port and the scheme.";
    Redirected, Reachable, False, Soon, "The endpoint answers with a redirect, which is never followed.", "Use the address it redirects to, if it is yours.";
    UnexpectedAnswer, Reachable, False, Soon, "The endpoint answers, but not like this backend.", "Check that the endpoint is the backend's API.";
    AnswerTooLarge, Reachable, False, Soon, "The endpoint sent more than any good answer has.", "Check that the endpoint is the backend's API.";
    LoggedIn, Authenticated, True, Regularly, "The backend let us in.", "";
    CredentialsRefused, Authenticated, False, Sparingly, "The backend refused the user or the password.", "Correct the Secret; it is used within 40 seconds.";
    LoginNotPermitted, Authenticated, False, Sparingly, "The backend knows the user and does not let it log in or look.", "Give the user the right that the message names.";
    ClientCertificateRefused, Authenticated, False, Regularly, "The backend does not accept the client certificate of the Secret.", "Have it signed by the authority that the backend trusts; the backend's log says what it misses.";
    LoginMethodUnsupported, Authenticated, False, Regularly, "The backend asks for a way to log in that banlieue does not have.", "Let it accept what the message names.";
    LoginFailed, Authenticated, False, Soon, "The backend failed at the login for a cause of its own; the message has it.", "Look at the backend's log.";
    FailureDomainsFound, FailureDomainsDiscovered, True, Regularly, "The inventory was read.", "";
    NoFailureDomains, FailureDomainsDiscovered, False, Regularly, "The backend shows nothing that could be a failure domain.", "Give the user the right to see the inventory, or make a cluster.";
    InventoryIncomplete, FailureDomainsDiscovered, False, Regularly, "A part of the inventory could not be read; the rest is reported.", "Give the user the right to read what the message names.";
    InventoryFailed, FailureDomainsDiscovered, False, Soon, "The inventory could not be read; what was known before is kept.", "See the message.";
    NotChecked, Ready, Unknown, Regularly, "An earlier step failed, so this was not looked at.", "See the condition that is False.";
    BackendAvailable, Ready, True, Regularly, "The backend can be used.", "";
}

/// A reason, and a sentence for people. It never holds a secret: it is shown in the status, Events and logs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finding {
    /// Why, in one word.
    pub reason: FindingReason,
    /// Why, in a sentence; empty where the word says it all.
    pub message: String,
}

impl Finding {
    /// A finding with its sentence.
    pub fn new(reason: FindingReason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.reason.as_str(), self.message)
    }
}

impl std::error::Error for Finding {}

impl From<FindingReason> for Finding {
    fn from(reason: FindingReason) -> Self {
        Self::new(reason, "")
    }
}
