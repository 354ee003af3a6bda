//! [`Cluster`]: the port's implementation. Server-side apply, guarded deletes, tested finalizer patches.
use super::crd::Provider;
use super::manifests::{Manifest, names};
use super::observe::Raw;
use super::operator::Operator;
use super::refusal::bounded;
use super::{event, kinds};
use crate::effects::{Port, Refusal};
use crate::fsm::{Doomed, Fault, Mode, Part, Transition, WorkloadStatus};
use kube::api::{Api, DeleteParams, Patch, PatchParams, Preconditions, PropagationPolicy};
use kube::{Resource, ResourceExt};
use serde_json::{Value, json};

/// Carries the effects of one plan out, for one Provider.
#[derive(Debug)]
pub struct Cluster<'a> {
    /// The client, the caches and the memory that answers are taken into.
    pub operator: &'a Operator,
    /// What the plan was made from.
    pub raw: &'a Raw,
    /// What is wanted.
    pub wanted: &'a [Manifest],
}

impl Cluster<'_> {
    fn providers(&self) -> Api<Provider> {
        Api::namespaced(self.operator.client.clone(), &self.raw.provider.namespace().unwrap_or_default())
    }

    /// Patches our finalizer in or out. The patch tests what it replaces, so that a foreign finalizer survives.
    async fn patch_finalizers(&self, what: &str, change: impl FnOnce(&mut Vec<String>)) -> Result<(), Refusal> {
        let provider = self.operator.latest(&self.raw.provider);
        let before = provider.metadata.finalizers.clone();
        let mut after = before.clone().unwrap_or_default();
        change(&mut after);
        let patch: json_patch::Patch = serde_json::from_value(json!([
            { "op": "test", "path": "/metadata/uid", "value": provider.metadata.uid },
            { "op": "test", "path": "/metadata/finalizers", "value": before },
            { "op": "add", "path": "/metadata/finalizers", "value": after },
        ]))
        .map_err(|error| refused(what, &error))?;
        let params = PatchParams { field_manager: Some(names::MANAGER_OPERATOR.into()), ..Default::default() };
        let (api, name, patch) = (self.providers(), provider.name_any(), Patch::Json::<()>(patch));
        self.take_in(self.operator.write(what, api.patch(&name, &params, &patch)).await).await
    }

    /// Takes in what a write to the Provider answered. Where that is no longer what we saw, its watch is behind, and what it
    /// does not tell yet may be the deletion: the next plan is made from a live read.
    async fn take_in(&self, written: Result<Provider, Refusal>) -> Result<(), Refusal> {
        match &written {
            Ok(answer) => self.operator.remember_latest(answer.clone()),
            Err(refusal) if matches!(refusal.fault, Fault::Conflict | Fault::Stale) => {
                let name = self.raw.provider.name_any();
                // one that cannot be read is told of by the next look
                if let Ok(Some(now)) = bounded("read the Provider", self.providers().get_opt(&name)).await {
                    self.operator.remember_latest(now);
                }
            }
            Err(_) => {}
        }
        written.map(drop)
    }
}

impl Port for Cluster<'_> {
    async fn hold_finalizer(&self) -> Result<(), Refusal> {
        match self.patch_finalizers("hold the finalizer", |all| all.push(names::FINALIZER.into())).await {
            // the Provider is gone: the next look tells
            Err(refusal) if refusal.fault == Fault::NotFound => Err(Refusal { fault: Fault::Stale, ..refusal }),
            result => result,
        }
    }

    async fn apply(&self, part: Part, mode: Mode) -> Result<(), Refusal> {
        let Some(manifest) = self.wanted.iter().find(|m| m.object.part == part) else { return Ok(()) };
        let object = &manifest.object;
        let mut body = manifest.body.clone();
        let mut params = PatchParams::apply(names::MANAGER_OPERATOR);
        match mode {
            // a create that never adopts: 409 where anything is there
            Mode::Create => body["metadata"]["resourceVersion"] = "1".into(),
            Mode::Change => {
                let seen = self.raw.found.iter().find(|f| f.object == *object);
                body["metadata"]["uid"] = json!(seen.and_then(|f| f.raw.uid()));
                params = params.force();
            }
        }
        let what = format!("{} {object}", if mode == Mode::Create { "create" } else { "change" });
        let api = kinds::api(&self.operator.client, object);
        match self.operator.write(&what, api.patch(&object.name, &params, &Patch::Apply(&body))).await {
            Ok(answer) => {
                self.operator.caches.part(part).put(answer);
                Ok(())
            }
            Err(refusal) => Err(explain(part, mode, refusal, &body)),
        }
    }

    async fn delete(&self, doomed: &Doomed) -> Result<(), Refusal> {
        let object = &doomed.object;
        let params = DeleteParams {
            preconditions: Some(Preconditions { uid: Some(doomed.uid.clone()), resource_version: None }),
            propagation_policy: Some(PropagationPolicy::Background),
            ..Default::default()
        };
        let api = kinds::api(&self.operator.client, object);
        let answer = self.operator.write(&format!("delete {object}"), api.delete(&object.name, &params)).await;
        let cache = self.operator.caches.part(object.part);
        let forget = || cache.forget(object.namespace.as_deref().unwrap_or(""), &object.name, &doomed.uid);
        match answer {
            // the answer is an object where it waits for finalizers, and of some kinds (ServiceAccount) where it is gone
            Ok(answer) => match answer.left().filter(|o| o.metadata.deletion_timestamp.is_some()) {
                Some(going) => cache.put(going),
                None => forget(),
            },
            // gone, or another object has its name by now
            Err(refusal) if matches!(refusal.fault, Fault::NotFound | Fault::Conflict) => forget(),
            Err(refusal) => return Err(refusal),
        }
        Ok(())
    }

    async fn announce(&self, edge: &Transition) -> Result<(), Refusal> {
        event::publish(self.operator, &self.raw.provider, edge).await
    }

    async fn report(&self, status: &WorkloadStatus) -> Result<(), Refusal> {
        let provider = self.operator.latest(&self.raw.provider);
        let body = json!({
            "apiVersion": Provider::api_version(&()),
            "kind": Provider::kind(&()),
            // a wrong uid would not be noticed here, a wrong resourceVersion is
            "metadata": { "name": provider.name_any(), "resourceVersion": provider.resource_version() },
            "status": { "workload": status },
        });
        let params = PatchParams::apply(names::MANAGER_OPERATOR).force();
        let (api, name, patch) = (self.providers(), provider.name_any(), Patch::Apply(body));
        self.take_in(self.operator.write("report the workload", api.patch_status(&name, &params, &patch)).await).await
    }

    async fn release_finalizer(&self) -> Result<(), Refusal> {
        match self.patch_finalizers("release the finalizer", |all| all.retain(|f| f != names::FINALIZER)).await {
            Err(refusal) if refusal.fault == Fault::NotFound => Ok(()),
            result => result,
        }
    }
}

/// What a refusal means for an apply of this part.
fn explain(part: Part, mode: Mode, refusal: Refusal, body: &Value) -> Refusal {
    match (refusal.fault, part, mode) {
        // a change answers 409 where the object is gone: it was there when we looked
        (Fault::Conflict, _, Mode::Change) => Refusal { fault: Fault::Stale, ..refusal },
        // a binding answers 404 in its own name where its role is missing
        (Fault::NotFound, Part::RoleBinding | Part::ClusterRoleBinding, _) => {
            let role = &body["roleRef"];
            let (kind, name) = (role["kind"].as_str().unwrap_or_default(), role["name"].as_str().unwrap_or_default());
            let hint =
                if part == Part::ClusterRoleBinding { "; `banlieue bootstrap operator` installs it" } else { "" };
            Refusal { words: format!("{kind} {name} is missing{hint} ({})", refusal.words), ..refusal }
        }
        _ => refusal,
    }
}

fn refused(what: &str, error: &dyn std::error::Error) -> Refusal {
    Refusal { fault: Fault::Refused, words: format!("{what}: {error}") }
}
