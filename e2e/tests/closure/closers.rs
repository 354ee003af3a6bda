//! [`Closer`]: what keeps a door shut, or why it may stand open.
use crate::doors::Door;
use crate::identity::{Identity, POD};
use banlieue_e2e::rights::Right;
use std::collections::BTreeSet;

/// What closes a door.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Closer {
    /// A policy of the fence on this very write; and the API server's own check that nobody grants what he does not hold.
    Policy {
        /// The policy.
        name: String,
        /// Whether the API server checks too.
        escalation: bool,
    },
    /// The right is on objects by name: its own.
    ByName,
    /// It stands open, for this reason.
    Accepted(&'static str),
    /// Nothing.
    Nothing,
}

impl Closer {
    /// The policy, where it is one.
    pub(crate) fn policy(self) -> Option<String> {
        match self {
            Closer::Policy { name, .. } => Some(name),
            _ => None,
        }
    }

    /// What there is to say beside the policy.
    pub(crate) fn why(&self) -> Option<String> {
        match self {
            Closer::Policy { escalation, .. } => escalation.then(|| "RBAC's own check".into()),
            Closer::ByName => Some("the names in the rule".into()),
            Closer::Accepted(why) => Some(format!("accepted: {why}")),
            Closer::Nothing => Some("NOTHING".into()),
        }
    }
}

/// What stands open: by whom, through which right, and why. A right that is not here is closed by something, or found.
const ACCEPTED: [(&str, &str, &str, &str); 8] = [
    ("operator", "get", "secrets", "who hands it out must hold it; any use is an alarm"),
    ("operator", "get", "configmaps", "who hands it out must hold it"),
    ("operator", "create", "events", "an Event has no name beforehand"),
    ("controller", "patch", "providerclasses/status", "that is its work, and nothing acts on it"),
    ("provider pod", "create", "events", "an Event has no name beforehand"),
    ("static provider", "get", "secrets", "in its namespace alone; whoever may write Providers there chooses which"),
    ("static provider", "get", "configmaps", "in its namespace alone"),
    ("static provider", "create", "events", "in its namespace alone"),
];

/// What a provider without an operator does for every Provider of its namespace.
const AT_HOME: [(&str, &str); 4] =
    [("patch", "providers/status"), ("create", "leases"), ("update", "leases"), ("get", "leases")];

/// What closes this door for this right.
pub(crate) fn closer(identity: &Identity, right: &Right, door: Door) -> Closer {
    if let Some(policy) = identity.policies.iter().find(|policy| policy.sees(right)) {
        return Closer::Policy { name: policy.name.clone(), escalation: matches!(door, Door::Grant | Door::Bind) };
    }
    let (verb, resource) = (right.verb.as_str(), right.resource.as_str());
    let accepted = ACCEPTED.iter().find(|(who, v, r, _)| (*who, *v, *r) == (identity.name, verb, resource));
    // names limit no create but one by PUT or apply, which is that of a Lease here
    let limits = right.name.is_some() && (verb != "create" || resource == "leases") && door != Door::Wildcard;
    match accepted {
        _ if limits => Closer::ByName,
        Some((.., why)) => Closer::Accepted(why),
        None if identity.at_home && AT_HOME.contains(&(verb, resource)) => {
            Closer::Accepted("in its namespace alone, where that is its work")
        }
        None => Closer::Nothing,
    }
}

/// What may be done behind a door. The fence leaves one thing to grant, to bind and to run as: the rights of a provider's
/// pod. Behind the doors that are closed by names, or accepted, there is nothing that was not granted; behind one that
/// nothing closes is everything.
pub(crate) fn behind(identity: &Identity, closer: &Closer, door: Door) -> BTreeSet<Right> {
    match (closer, door) {
        (Closer::Policy { .. }, Door::Grant | Door::Bind | Door::Run) if identity.name == "operator" => POD.clone(),
        (Closer::Nothing, _) => [Right::new("*", "*", "*")].into(),
        _ => BTreeSet::new(),
    }
}
