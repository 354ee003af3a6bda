//! The property collector: what is read of the inventory, in pages.
use super::service::Service;
use super::soap::{CallError, Soap};
use super::xml::Element;
use crate::k8s::crd::{Finding, FindingReason as Reason};
use quick_xml::escape::escape;

/// What is read: types and their properties.
const WANTED: &[(&str, &[&str])] = &[
    ("Datacenter", &["name", "parent"]),
    ("Folder", &["name", "parent"]),
    ("ClusterComputeResource", &["name", "parent", "datastore", "network"]),
    ("Datastore", &["name"]),
    ("Network", &["name"]),
];
/// Objects in a page.
const PAGE: usize = 500;
/// A server that never stops paging is no vCenter: the largest documented one has fewer objects than these.
const MOST_PAGES: usize = 400;
/// What is kept of all pages: objects, and their references to others.
const MOST_KEPT: usize = 500_000;

/// A managed object, with the properties that could be read.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Object {
    pub(super) kind: String,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) parent: String,
    pub(super) datastores: Vec<String>,
    pub(super) networks: Vec<String>,
    /// The properties that could not be read, and the fault.
    pub(super) missing: Vec<(String, String)>,
}

impl Object {
    /// What it adds to what is kept.
    fn size(&self) -> usize {
        1 + self.datastores.len() + self.networks.len() + self.missing.len()
    }
}

/// Reads all objects below the root folder.
pub(super) async fn retrieve(soap: &mut Soap, service: &Service) -> Result<Vec<Object>, CallError> {
    let types: String = WANTED.iter().map(|(kind, _)| format!("<type>{kind}</type>")).collect();
    let root = escape(&service.root);
    let arguments = format!("<container type=\"Folder\">{root}</container>{types}<recursive>true</recursive>");
    let view = soap.call("CreateContainerView", ("ViewManager", &service.views), &arguments).await?;
    let view = view.text_of("returnval").to_owned();
    let objects = pages(soap, service, &view).await;
    // It would live as long as the session, which is kept for weeks.
    let destroyed = soap.call("DestroyView", ("ContainerView", &view), "").await;
    let objects = objects?;
    destroyed?;
    Ok(objects)
}

async fn pages(soap: &mut Soap, service: &Service, view: &str) -> Result<Vec<Object>, CallError> {
    let collector = ("PropertyCollector", service.collector.as_str());
    let mut page = soap.call("RetrievePropertiesEx", collector, &filter(view)).await?;
    let mut objects: Vec<Object> = Vec::new();
    let mut kept = 0;
    for _ in 0..MOST_PAGES {
        let Some(result) = page.child("returnval") else { return Ok(objects) };
        let before = objects.len();
        objects.extend(result.all("objects").map(object));
        kept += objects[before..].iter().map(Object::size).sum::<usize>();
        if kept > MOST_KEPT {
            break;
        }
        let token = result.text_of("token");
        if token.is_empty() {
            return Ok(objects);
        }
        let arguments = format!("<token>{}</token>", escape(token));
        page = soap.call("ContinueRetrievePropertiesEx", collector, &arguments).await?;
    }
    Err(Finding::new(Reason::AnswerTooLarge, "the inventory is larger than any vCenter's").into())
}

fn filter(view: &str) -> String {
    let sets: String = WANTED
        .iter()
        .map(|(kind, paths)| {
            let paths: String = paths.iter().map(|p| format!("<pathSet>{p}</pathSet>")).collect();
            format!("<propSet><type>{kind}</type>{paths}</propSet>")
        })
        .collect();
    format!(
        "<specSet>{sets}<objectSet><obj type=\"ContainerView\">{}</obj><skip>true</skip>\
         <selectSet xsi:type=\"TraversalSpec\"><type>ContainerView</type><path>view</path><skip>false</skip></selectSet>\
         </objectSet></specSet><options><maxObjects>{PAGE}</maxObjects></options>",
        escape(view)
    )
}

fn object(element: &Element) -> Object {
    let reference = element.child("obj");
    let mut object = Object {
        kind: reference.map(|r| r.kind.clone()).unwrap_or_default(),
        id: reference.map(|r| r.text.clone()).unwrap_or_default(),
        ..Default::default()
    };
    for property in element.all("propSet") {
        let Some(value) = property.child("val") else { continue };
        let references = || value.children.iter().map(|r| r.text.clone()).collect();
        match property.text_of("name") {
            "name" => object.name = decoded(&value.text),
            "parent" => object.parent = value.text.clone(),
            "datastore" => object.datastores = references(),
            "network" => object.networks = references(),
            _ => {}
        }
    }
    for missing in element.all("missingSet") {
        let fault = missing.child("fault").and_then(|f| f.child("fault")).map_or("", |f| f.kind.as_str());
        object.missing.push((missing.text_of("path").into(), fault.into()));
    }
    object
}

/// A vCenter writes `/`, `\` and `%` of a name as `%2f`, `%5c` and `%25`.
fn decoded(name: &str) -> String {
    name.replace("%2f", "/").replace("%5c", "\\").replace("%25", "%")
}
