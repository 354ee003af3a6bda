//! What every pod of ours has in common: Pod Security `restricted`, read-only root, probes, downward environment.
use k8s_openapi::api::core::v1::{
    Capabilities, Container, ContainerPort, EnvVar, EnvVarSource, HTTPGetAction, ObjectFieldSelector,
    PodSecurityContext, Probe, SeccompProfile, SecurityContext,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// The port of `/livez`, `/readyz` and `/metrics` in every role.
pub const HEALTH_PORT: i32 = 8080;
/// The user of the image: it has no passwd file, so the number is the name.
pub const UID: i64 = 65532;

/// The pod-level security context that `restricted` asks for.
pub fn pod_security() -> PodSecurityContext {
    PodSecurityContext {
        run_as_non_root: Some(true),
        run_as_user: Some(UID),
        run_as_group: Some(UID),
        seccomp_profile: Some(SeccompProfile { type_: "RuntimeDefault".into(), ..Default::default() }),
        ..Default::default()
    }
}

/// The container of a role: its arguments, health port and probes.
pub fn container(name: &str, image: &str, args: Vec<String>, env: Vec<EnvVar>) -> Container {
    Container {
        name: name.into(),
        image: Some(image.into()),
        args: Some(args),
        env: Some(env),
        ports: Some(vec![ContainerPort {
            name: Some("health".into()),
            container_port: HEALTH_PORT,
            protocol: Some("TCP".into()),
            ..Default::default()
        }]),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            read_only_root_filesystem: Some(true),
            capabilities: Some(Capabilities { drop: Some(vec!["ALL".into()]), ..Default::default() }),
            ..Default::default()
        }),
        // the last lines of the log become the last words that the status shows
        termination_message_policy: Some("FallbackToLogsOnError".into()),
        liveness_probe: Some(probe("/livez", 10, 3)),
        readiness_probe: Some(probe("/readyz", 1, 1)),
        ..Default::default()
    }
}

fn probe(path: &str, period_seconds: i32, failure_threshold: i32) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some(path.into()),
            port: IntOrString::String("health".into()),
            ..Default::default()
        }),
        period_seconds: Some(period_seconds),
        failure_threshold: Some(failure_threshold),
        timeout_seconds: Some(1),
        ..Default::default()
    }
}

/// An environment variable with a fixed value.
pub fn env(name: &str, value: impl Into<String>) -> EnvVar {
    EnvVar { name: name.into(), value: Some(value.into()), ..Default::default() }
}

/// An environment variable filled from a field of the pod, such as `metadata.uid`.
pub fn env_field(name: &str, path: &str) -> EnvVar {
    EnvVar {
        name: name.into(),
        value_from: Some(EnvVarSource {
            field_ref: Some(ObjectFieldSelector { field_path: path.into(), ..Default::default() }),
            ..Default::default()
        }),
        ..Default::default()
    }
}
