//! [`Reason`]: why a phase was entered. API: Events, status and metrics share these words.
use super::Phase;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! reasons {
    ($($name:ident, $phase:ident, $failure:literal, $means:literal, $todo:literal;)*) => {
        /// Why the workload is in its phase. One reason belongs to one phase.
        #[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
        pub enum Reason { $(#[doc = $means] $name,)* }

        impl Reason {
            /// Every reason, in the order of the generated reference.
            pub const ALL: &'static [Reason] = &[$(Reason::$name,)*];

            /// The word of the API.
            pub const fn as_str(self) -> &'static str { match self { $(Reason::$name => stringify!($name),)* } }

            /// The phase this reason belongs to.
            pub const fn phase(self) -> Phase { match self { $(Reason::$name => Phase::$phase,)* } }

            /// Whether the entry into this reason is an edge of its own, with an Event, even without a change of phase.
            pub const fn is_failure(self) -> bool { match self { $(Reason::$name => $failure,)* } }

            /// What it means, in one sentence.
            pub const fn means(self) -> &'static str { match self { $(Reason::$name => $means,)* } }

            /// What a person can do about it.
            pub const fn remedy(self) -> &'static str { match self { $(Reason::$name => $todo,)* } }
        }
    };
}

reasons! {
    ClassNotFound, Pending, true, "The ProviderClass it names does not exist.", "Create the class, or correct `spec.providerClassRef.name`.";
    ClassInvalid, Pending, true, "The ProviderClass cannot be used as it is; the message names the field.", "Correct the class; its Providers follow at once.";
    BackendNotCompiled, Pending, true, "The operator was built without the backend of the class.", "Run a build that has it, or use a class of another backend.";
    EndpointInvalid, Pending, true, "The scheme of the endpoint belongs to another backend than the class.", "Correct `spec.connection.endpoint`, or repoint the Provider at a class of that backend.";
    NamespaceNotFound, Pending, true, "The namespace the workload belongs in does not exist.", "Create the namespace; the Provider goes on by itself.";
    NamespaceTerminating, Pending, true, "The namespace the workload belongs in is being deleted.", "Wait for its end and create it again, or choose another `workloadNamespace`.";
    NameConflict, Pending, true, "An object of the name we need exists and is not ours; it is never changed, adopted or deleted.", "Delete or rename that object; the Provider goes on by itself.";
    FenceOpen, Pending, true, "The admission policies that limit the operator are not in force, so it creates nothing.", "Run `banlieue bootstrap operator` again, or see `banlieue check`.";
    Refused, Pending, true, "The API refused a write of ours; its words are in the message.", "Remove the cause; the write is tried again with a growing delay, and at once when what we want changes.";
    Creating, Provisioning, false, "Objects of the workload are being created.", "Nothing: this takes a moment.";
    ClassChanged, Provisioning, false, "The ProviderClass changed, and the workload is being brought in line.", "Nothing: watch the rollout.";
    SpecChanged, Provisioning, false, "The Provider changed, and the workload is being brought in line.", "Nothing: watch the rollout.";
    DriftDetected, Provisioning, false, "An object of the workload was edited or deleted by somebody else and is being put back.", "Find out who edits it; the message names the object.";
    RollingOut, Provisioning, false, "The Deployment is rolling out.", "Nothing: watch the rollout.";
    ScaledToZero, Provisioning, false, "The Deployment is scaled to zero replicas.", "Set `spec.replicas` of the class, or scale the Deployment.";
    WaitingForBackend, Provisioning, false, "The pod runs but is not ready: it has not reached its backend.", "Read the conditions of the Provider: they say what the backend answered.";
    PodsRefused, Provisioning, true, "The API refuses the pods of the Deployment (quota, Pod Security, admission).", "Read the message, and raise the quota or correct the class.";
    ImagePullFailed, Provisioning, true, "The image of the class cannot be pulled.", "Correct `spec.image` of the class or its pull secret.";
    CrashLooping, Provisioning, true, "The container ends again and again; exit code and last words are in the message.", "Read the pod's log.";
    Unschedulable, Provisioning, true, "No node takes the pod.", "Read the message; adjust resources, node selector or tolerations of the class.";
    ProgressDeadlineExceeded, Provisioning, true, "The rollout made no progress within its deadline.", "Describe the Deployment and its pods.";
    WorkloadAvailable, Ready, false, "The workload matches and a pod is available.", "Nothing.";
    ProviderPaused, Paused, false, "`spec.paused` of the Provider is set.", "Set it to false to go on.";
    ClassPaused, Paused, false, "`spec.paused` of the ProviderClass is set.", "Set it to false to go on.";
    DeletionRequested, Terminating, false, "The Provider is being deleted; what is still left is named in the message.", "Nothing; where it stays, the message names what is waited for.";
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
