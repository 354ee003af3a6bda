//! [`Page`]: the links and the headings of a Markdown file.
use std::collections::BTreeSet;

/// A Markdown file, as far as links go.
pub(crate) struct Page {
    /// Where its links lead, in order.
    pub(crate) links: Vec<String>,
    /// What a link may name after `#`.
    pub(crate) anchors: BTreeSet<String>,
}

impl Page {
    pub(crate) fn new(text: &str) -> Self {
        let (mut links, mut anchors, mut code) = (Vec::new(), BTreeSet::new(), false);
        for line in text.lines() {
            if line.trim_start().starts_with("```") {
                code = !code;
            } else if !code {
                if let Some(heading) = line.strip_prefix('#') {
                    anchors.insert(anchor(heading.trim_start_matches('#').trim()));
                }
                links.extend(targets(line));
            }
        }
        Page { links, anchors }
    }
}

/// How GitHub and mdBook name a heading.
fn anchor(heading: &str) -> String {
    let keep = |c: char| (c.is_alphanumeric() || matches!(c, '-' | '_' | ' ')).then(|| c.to_ascii_lowercase());
    heading.chars().filter_map(keep).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The targets of `[text](target)` in a line; what is between backquotes is no link.
fn targets(line: &str) -> Vec<String> {
    let outside: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
    let after = outside.split("](").skip(1);
    after.filter_map(|rest| rest.split_once(')').map(|(target, _)| target.to_owned())).collect()
}

#[test]
fn links_and_headings() {
    let page = Page::new("# A b: `c`!\n[x](y.md) and [`z`](#a-b-c), not `[n](o)`\n```\n[p](q)\n# r\n```\n");
    assert_eq!(page.links, ["y.md", "#a-b-c"]);
    assert_eq!(page.anchors, BTreeSet::from(["a-b-c".to_owned()]));
}
