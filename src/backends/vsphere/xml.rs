//! XML into a small tree, within limits. Names are local ones: servers differ in their prefixes.
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};

/// No good answer nests deeper.
const DEPTH: usize = 64;
/// No good answer has more elements; so many take some 40 MB.
const ELEMENTS: usize = 300_000;

/// An element: its local name, its `type` attribute, its text and its children.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Element {
    pub(super) name: String,
    /// `type` or `xsi:type`, without a prefix.
    pub(super) kind: String,
    pub(super) text: String,
    pub(super) children: Vec<Element>,
}

impl Element {
    /// The first child of that name.
    pub(super) fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|c| c.name == name)
    }

    /// All children of that name.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |c| c.name == name)
    }

    /// The text of the child of that name; empty without one.
    pub(super) fn text_of(&self, name: &str) -> &str {
        self.child(name).map_or("", |c| c.text.as_str())
    }
}

/// Parses a document. The error is a sentence that repeats nothing of the document.
pub(super) fn parse(text: &str) -> Result<Element, &'static str> {
    const BROKEN: &str = "the answer is no well-formed XML";
    let mut reader = Reader::from_str(text);
    let mut open: Vec<Element> = Vec::new();
    let mut root = None;
    let mut elements = 0;
    loop {
        let closed = match reader.read_event().map_err(|_| BROKEN)? {
            Event::DocType(_) => return Err("the answer has a DOCTYPE, which is refused"),
            Event::Start(_) if open.len() == DEPTH => return Err("the answer nests too deep"),
            Event::Start(_) | Event::Empty(_) if elements == ELEMENTS => {
                return Err("the answer has more elements than any good one");
            }
            Event::Start(start) => {
                elements += 1;
                open.push(element(&start)?);
                None
            }
            Event::Empty(start) => {
                elements += 1;
                Some(element(&start)?)
            }
            Event::End(_) => Some(open.pop().ok_or(BROKEN)?),
            Event::Text(text) => push(&mut open, &text.xml10_content()),
            Event::CData(text) => push(&mut open, &text.xml10_content()),
            Event::GeneralRef(entity) => match entity.resolve_char_ref().map_err(|_| BROKEN)? {
                Some(c) => push(&mut open, c.encode_utf8(&mut [0; 4])),
                None => push(&mut open, resolve_predefined_entity(&entity.into_inner()).ok_or(BROKEN)?),
            },
            Event::Eof => break,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => None,
        };
        if let Some(mut element) = closed {
            if !element.children.is_empty() {
                element.text.clear(); // white space between the children
            }
            match open.last_mut() {
                Some(parent) => parent.children.push(element),
                None if root.is_none() => root = Some(element),
                None => return Err(BROKEN),
            }
        }
    }
    if open.is_empty() { root.ok_or(BROKEN) } else { Err("the answer breaks off") }
}

fn element(start: &BytesStart<'_>) -> Result<Element, &'static str> {
    let mut kind = String::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|_| "the answer is no well-formed XML")?;
        if attribute.key.local_name().into_inner() == "type" {
            kind = attribute.value.rsplit(':').next().unwrap_or_default().to_owned();
        }
    }
    Ok(Element { name: start.local_name().into_inner().to_owned(), kind, ..Default::default() })
}

/// Adds to the text of the innermost open element, and closes nothing.
fn push(open: &mut [Element], text: &str) -> Option<Element> {
    if let Some(element) = open.last_mut() {
        element.text.push_str(text);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[test]
    fn reads_local_names_types_and_entities() {
        let text = "<?xml version='1.0'?><s:a xmlns:s='x'><!-- c --><b xsi:type=\"v:T\">1 &lt;&#65;</b> <c/></s:a>";
        let tree = parse(text).unwrap();
        assert_eq!((tree.name.as_str(), tree.text.as_str()), ("a", ""));
        let b = tree.child("b").unwrap();
        assert_eq!((b.kind.as_str(), b.text.as_str()), ("T", "1 <A"));
        assert!(tree.child("c").is_some());
    }

    #[rstest]
    #[case::empty("")]
    #[case::text("hello")]
    #[case::truncated("<a><b>1</b>")]
    #[case::crossed("<a><b></a></b>")]
    #[case::two_roots("<a/><b/>")]
    #[case::doctype("<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>")]
    #[case::unknown_entity("<a>&boom;</a>")]
    #[case::deep(&"<a>".repeat(100_000))]
    #[case::many(&format!("<a>{}</a>", "<b/>".repeat(ELEMENTS)))]
    fn refuses(#[case] text: &str) {
        parse(text).unwrap_err();
    }

    #[test]
    fn survives_anything() {
        proptest::proptest!(|(text in "[<>/a&;!\\[\\]?\"= -]{0,60}")| { let _ = parse(&text); });
    }
}
