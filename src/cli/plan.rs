//! `banlieue plan`: what the operator would do, by its own functions. Reads only.
use super::access::Access;
use super::error::Usage;
use super::input;
use super::output::{Output, complain};
use super::word::{ADDRESS, NAMESPACE};
use crate::fsm::{Effect, ObjectRef};
use crate::k8s::caches::Caches;
use crate::k8s::client::Purpose;
use crate::k8s::crd::Provider;
use crate::k8s::files;
use crate::k8s::manifests::names;
use crate::k8s::predict::{self, Round};
use crate::k8s::strict;
use anyhow::{Context, anyhow, bail};
use chrono::{SubsecRound, Utc};
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Its flags.
#[derive(clap::Args, Debug)]
#[command(
    override_usage = "banlieue plan provider NAMESPACE/NAME [-f FILE]... [OPTIONS]\n       banlieue plan -f FILE [-f FILE]... [OPTIONS]",
    after_help = "\
Examples:
  # what the operator would do now
  banlieue plan provider banlieue-system/prod-vc
  # what it would do once an edited Provider or ProviderClass was applied
  banlieue plan provider banlieue-system/prod-vc -f edited.yaml
  kubectl apply --dry-run=server -f edited.yaml -o yaml |
    banlieue plan provider banlieue-system/prod-vc -f -
  # from files alone: no cluster is contacted
  banlieue plan -f class.yaml -f provider.yaml

Exit codes: 0 nothing would change, 2 something would, 1 it failed, 64 it was asked for wrongly."
)]
pub struct Args {
    /// The word `provider`, for one that is in the cluster
    #[arg(value_name = "provider", value_parser = ["provider", "prov"], hide_possible_values = true)]
    #[arg(required_unless_present = "files", requires = "address")]
    pub kind: Option<String>,
    /// Its namespace and its name
    #[arg(value_name = "NAMESPACE/NAME", value_parser = ADDRESS)]
    pub address: Option<String>,
    /// A file, or `-` for standard input. With a Provider: it and its class as they would be; without: all that there is
    #[arg(short, long = "file", value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Where banlieue is installed
    #[arg(long, short, value_parser = NAMESPACE, default_value = names::DEFAULT_NAMESPACE)]
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
    let lines = match args.address.as_ref().and_then(|address| address.split_once('/')) {
        Some((namespace, name)) => live(&args, namespace, name).await?,
        None => offline(&args)?,
    };
    let changes = lines.iter().any(|line| !line.effects.is_empty());
    args.output.print(&lines, table)?;
    Ok(if changes { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

async fn live(args: &Args, namespace: &str, name: &str) -> anyhow::Result<Vec<Line>> {
    let (held, providers) = read(args, namespace)?;
    let client = args.access.connect(Purpose::Person).await?;
    let provider = predict::provider(&client, namespace, name).await.map_err(|refusal| anyhow!(refusal.words))?;
    let mut provider = provider
        .ok_or_else(|| anyhow!("there is no Provider {namespace}/{name}; `banlieue plan -f` plans one that is new"))?;
    let is_it =
        |p: &Provider| p.metadata.namespace == provider.metadata.namespace && p.metadata.name == provider.metadata.name;
    let edited = providers.into_iter().find(is_it);
    let edits_it = edited.is_some();
    if let Some(edited) = edited {
        provider = files::applied(provider, edited);
    }
    let of = &provider.spec.provider_class_ref.name;
    let class = held.classes.get("", of);
    if !args.files.is_empty() && !edits_it && class.is_none() {
        return Err(Usage(format!("neither Provider {namespace}/{name} nor ProviderClass {of} is in the files")).into());
    }
    let class = class.map(Arc::unwrap_or_clone);
    let caches = predict::read(&client, &args.namespace, &provider, class).await;
    lines(&*caches.map_err(|refusal| anyhow!(refusal.words))?, args, provider)
}

fn offline(args: &Args) -> anyhow::Result<Vec<Line>> {
    let (caches, providers) = read(args, "default")?;
    if providers.is_empty() {
        return Err(Usage::of("there is no Provider in the files").into());
    }
    let each = providers.into_iter().map(|provider| lines(&caches, args, provider));
    Ok(each.collect::<anyhow::Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// What the files hold, and the Providers among it; `namespace` is that of one for which its file says none.
fn read(args: &Args, namespace: &str) -> anyhow::Result<(Arc<Caches>, Vec<Provider>)> {
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
    files::from_files(objects.collect::<anyhow::Result<_>>()?, namespace)
}

/// How a person finds an object in a file.
fn named(object: &Value) -> String {
    let meta = &object["metadata"];
    let name = [&meta["namespace"], &meta["name"]].into_iter().filter_map(Value::as_str).collect::<Vec<_>>().join("/");
    format!("{} {name}", object["kind"].as_str().unwrap_or("object")).trim_end().to_owned()
}

fn lines(caches: &Caches, args: &Args, provider: Provider) -> anyhow::Result<Vec<Line>> {
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
