//! `banlieue plan`: what the operator would do, by its own functions. Reads only.
use super::access::Access;
use super::error::Usage;
use super::input;
use super::output::{Output, complain};
use crate::fsm::{Effect, ObjectRef};
use crate::k8s::client::Purpose;
use crate::k8s::crd::Provider;
use crate::k8s::manifests::names;
use crate::k8s::predict::{self, Round};
use crate::k8s::strict;
use anyhow::{Context, anyhow, bail};
use chrono::{SubsecRound, Utc};
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitCode;

/// Its flags.
#[derive(clap::Args, Debug)]
#[command(
    override_usage = "banlieue plan provider NAMESPACE/NAME [OPTIONS]\n       banlieue plan -f FILE [-f FILE]... [OPTIONS]",
    after_help = "Exit codes: 0 nothing would change, 2 something would, 1 it failed, 64 it was asked for wrongly."
)]
pub struct Args {
    /// The word `provider` and NAMESPACE/NAME: the Provider in the cluster
    #[arg(num_args = 2, value_names = ["provider", "NAMESPACE/NAME"], required_unless_present = "files")]
    pub target: Vec<String>,
    /// Read Providers, classes and what is there from this file instead, or from standard input where it is `-`; no
    /// cluster is contacted
    #[arg(short, long = "file", value_name = "FILE", conflicts_with = "target")]
    pub files: Vec<PathBuf>,
    /// Where banlieue is installed
    #[arg(long, short, default_value = names::DEFAULT_NAMESPACE)]
    pub namespace: String,
    /// How to print it
    #[arg(short, long, value_enum, default_value = "table")]
    pub output: Output,
    /// Which cluster.
    #[command(flatten)]
    pub access: Access,
}

/// One round of the plan of one Provider, as scripts read it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    provider: String,
    round: usize,
    phase: &'static str,
    reason: &'static str,
    message: String,
    effects: Vec<Owed>,
}

#[derive(Debug, Serialize)]
struct Owed {
    effect: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<String>,
}

/// Prints the rounds; exit code 2 where something would change, as diff tools do.
///
/// # Errors
/// When the Provider or a file cannot be read.
pub async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let lines = if args.files.is_empty() { live(&args).await? } else { offline(&args)? };
    let changes = lines.iter().any(|line| !line.effects.is_empty());
    args.output.print(&lines, table)?;
    Ok(if changes { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

async fn live(args: &Args) -> anyhow::Result<Vec<Line>> {
    let [kind, name] = args.target.as_slice() else { return Err(Usage::of("give provider NAMESPACE/NAME").into()) };
    let Some((namespace, name)) = name.split_once('/').filter(|_| matches!(kind.as_str(), "provider" | "prov")) else {
        return Err(Usage(format!("{kind} {name} is not `provider NAMESPACE/NAME`")).into());
    };
    let client = args.access.connect(Purpose::Person).await?;
    let provider = predict::provider(&client, namespace, name).await.map_err(|refusal| anyhow!(refusal.words))?;
    let provider = provider.ok_or_else(|| anyhow!("there is no Provider {namespace}/{name}"))?;
    let caches = predict::read(&client, &args.namespace, &provider).await.map_err(|refusal| anyhow!(refusal.words))?;
    lines(&caches, args, provider)
}

fn offline(args: &Args) -> anyhow::Result<Vec<Line>> {
    let mut documents = Vec::new();
    for file in &args.files {
        documents.extend(input::documents(file)?);
    }
    let faults = |(file, object): &(String, Value)| {
        let at = named(object);
        strict::faults(object).into_iter().map(move |fault| format!("{file}: {at}: {fault}")).collect::<Vec<_>>()
    };
    let faults: Vec<String> = documents.iter().flat_map(faults).collect();
    if let Some((last, others)) = faults.split_last() {
        others.iter().for_each(complain);
        bail!("{last}");
    }
    let objects = documents.into_iter().map(|(file, object)| {
        let at = named(&object);
        serde_json::from_value(object).with_context(|| format!("{file}: {at}"))
    });
    let (caches, providers) = predict::from_files(objects.collect::<anyhow::Result<_>>()?)?;
    if providers.is_empty() {
        return Err(Usage::of("there is no Provider in the files").into());
    }
    let each = providers.into_iter().map(|provider| lines(&caches, args, provider));
    Ok(each.collect::<anyhow::Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// How a person finds an object in a file.
fn named(object: &Value) -> String {
    let meta = &object["metadata"];
    let name = [&meta["namespace"], &meta["name"]].into_iter().filter_map(Value::as_str).collect::<Vec<_>>().join("/");
    format!("{} {name}", object["kind"].as_str().unwrap_or("object")).trim_end().to_owned()
}

fn lines(caches: &crate::k8s::caches::Caches, args: &Args, provider: Provider) -> anyhow::Result<Vec<Line>> {
    let meta = &provider.metadata;
    let name = format!("{}/{}", meta.namespace.as_deref().unwrap_or("default"), meta.name.as_deref().unwrap_or(""));
    let rounds = predict::rounds(caches, &args.namespace, provider, Utc::now().trunc_subsecs(0))
        .map_err(|refusal| anyhow!(refusal.words))?;
    Ok(rounds.iter().enumerate().map(|(at, round)| line(&name, at + 1, round)).collect())
}

fn line(provider: &str, round: usize, found: &Round) -> Line {
    let signal = found.plan.signal();
    let owed = |effect: &Effect| {
        let object: Option<&ObjectRef> = match effect {
            Effect::Apply(part, _) => found.objects.iter().find(|o| o.part == *part),
            Effect::Delete(doomed) => Some(&doomed.object),
            _ => None,
        };
        let fields = object.and_then(|o| found.fields.iter().find(|(at, _)| at == o));
        let verb = effect.to_string();
        let verb = if object.is_some() { verb.split(' ').next().unwrap_or_default().to_owned() } else { verb };
        let fields = fields.map(|(_, fields)| fields.clone()).unwrap_or_default();
        Owed { effect: verb, object: object.map(ObjectRef::to_string), fields }
    };
    Line {
        provider: provider.to_owned(),
        round,
        phase: found.plan.phase().as_str(),
        reason: signal.reason.as_str(),
        message: signal.message.clone(),
        effects: found.plan.effects().iter().map(owed).collect(),
    }
}

fn table(lines: &[Line]) -> String {
    let mut text = String::new();
    for line in lines {
        text +=
            &format!("{} · round {} · {}/{}: {}\n", line.provider, line.round, line.phase, line.reason, line.message);
        for owed in &line.effects {
            text += &format!(
                "    {}\n",
                [Some(&owed.effect), owed.object.as_ref()].into_iter().flatten().cloned().collect::<Vec<_>>().join(" ")
            );
            text.extend(owed.fields.iter().map(|field| format!("        {field}\n")));
        }
        if line.effects.is_empty() {
            text += "    nothing\n";
        }
    }
    text
}
