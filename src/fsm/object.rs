//! The objects of a Provider: the five parts, where each is, and how it stands.

/// One of the five objects of a Provider, in the order they are created.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Part {
    /// The identity of the pods.
    ServiceAccount,
    /// What the pods may do beside their Provider.
    Role,
    /// Grants the shared ClusterRole. Garbage collection never reaches it: the finalizer exists for it.
    ClusterRoleBinding,
    /// Grants the Role.
    RoleBinding,
    /// The pods.
    Deployment,
}

impl Part {
    /// The five, in order of creation.
    pub const ALL: [Part; 5] =
        [Part::ServiceAccount, Part::Role, Part::ClusterRoleBinding, Part::RoleBinding, Part::Deployment];

    /// Its kind in the API.
    pub const fn kind(self) -> &'static str {
        match self {
            Part::ServiceAccount => "ServiceAccount",
            Part::Role => "Role",
            Part::ClusterRoleBinding => "ClusterRoleBinding",
            Part::RoleBinding => "RoleBinding",
            Part::Deployment => "Deployment",
        }
    }

    /// Whether it names the ServiceAccount: such a part waits until the account has been seen as ours.
    pub const fn names_account(self) -> bool {
        matches!(self, Part::ClusterRoleBinding | Part::RoleBinding | Part::Deployment)
    }

    /// When it is applied: parts of one rank may be sent in parallel. A binding before its role is refused.
    pub const fn rank(self) -> u8 {
        match self {
            Part::ServiceAccount | Part::Role | Part::ClusterRoleBinding => 0,
            Part::RoleBinding => 1,
            Part::Deployment => 2,
        }
    }
}

/// The address of an object.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ObjectRef {
    /// Which of the five kinds.
    pub part: Part,
    /// Its namespace; `None` for a ClusterRoleBinding.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl std::fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.part.kind(), self.name),
            None => write!(f, "{} {}", self.part.kind(), self.name),
        }
    }
}

/// How a wanted object stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Sight {
    /// It does not exist.
    Absent,
    /// It is ours and has everything we want.
    Matching,
    /// It is ours and differs in these fields.
    Drifted(Vec<String>),
    /// It is ours and differs in a field that the API does not let anyone change: it has to be made anew.
    Unchangeable {
        /// The uid to delete.
        uid: String,
        /// The fields that differ.
        fields: Vec<String>,
    },
    /// It exists and does not carry this Provider's stamp: never changed, adopted or deleted (I7).
    Foreign,
    /// It carries the stamp of an earlier Provider of the same name: its end is waited for.
    Earlier,
    /// It is ours and being deleted.
    Terminating,
}

/// A wanted object: where it is, and how it stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Wanted {
    /// Its address.
    pub object: ObjectRef,
    /// How it stands.
    pub sight: Sight,
}

/// An object that carries our stamp and is not wanted where it is; while deleting, every object of ours.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Stray {
    /// Its address.
    pub object: ObjectRef,
    /// The uid to delete, as precondition.
    pub uid: String,
    /// Whether an owner reference to this Provider lets garbage collection reach it.
    pub owned: bool,
    /// Whether its deletion has begun.
    pub terminating: bool,
}
