//! From a source file to the paths it names. It works on tokens, so comments and strings are gone, and uses, types, attributes and
//! the insides of macros look alike: a path is a word followed by `::`, or whatever a `use` lists.
use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};

/// A path that a file names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Named {
    /// The line it stands in.
    pub(crate) line: usize,
    /// Its parts: from the root of this crate where `own`, as written otherwise. A glob ends in `*`.
    pub(crate) path: Vec<String>,
    /// Whether it lies in this crate.
    pub(crate) own: bool,
}

/// Every path named in `file` (its path below `src`), and the words `async` and `await` as paths of one part.
pub(crate) fn named(file: &str, text: &str) -> Result<Vec<Named>, String> {
    let stream: TokenStream = text.parse().map_err(|e| format!("cannot be read: {e}"))?;
    let mut reader = Reader { module: module(file), found: Vec::new() };
    reader.block(stream);
    Ok(reader.found)
}

/// The module a file is: `k8s/crd/mod.rs` is `k8s::crd`, `main.rs` the root.
fn module(file: &str) -> Vec<String> {
    let mut parts: Vec<String> = file.trim_end_matches(".rs").split('/').map(String::from).collect();
    if matches!(parts.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        parts.pop();
    }
    parts
}

struct Reader {
    module: Vec<String>,
    found: Vec<Named>,
}

impl Reader {
    fn block(&mut self, stream: TokenStream) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            at = self.token(&tokens, at);
        }
    }

    /// Reads what begins at `at`, and answers where to go on.
    fn token(&mut self, tokens: &[TokenTree], at: usize) -> usize {
        match &tokens[at] {
            TokenTree::Ident(_) => match word(tokens, at).as_str() {
                "use" => self.tree(&[], tokens, at + 1),
                "crate" if word(tokens, at.wrapping_sub(1)) == "extern" => self.tree(&[], tokens, at + 1),
                "mod" => self.inline_module(tokens, at),
                "in" if is_path_root(&word(tokens, at + 1)) => self.tree(&[], tokens, at + 1),
                "async" | "await" => {
                    self.push(tokens, at, &[word(tokens, at)]);
                    at + 1
                }
                _ if colons(tokens, at + 1) => self.tree(&[], tokens, at),
                _ => at + 1,
            },
            TokenTree::Punct(p) if p.as_char() == '#' && word_in_brackets(tokens, at + 1) == "path" => {
                self.push(tokens, at, &["#[path]".into()]);
                at + 2
            }
            TokenTree::Group(group) => {
                self.block(group.stream());
                at + 1
            }
            _ => at + 1,
        }
    }

    /// `mod name { … }`: what is inside is one module deeper.
    fn inline_module(&mut self, tokens: &[TokenTree], at: usize) -> usize {
        let Some(TokenTree::Group(body)) = tokens.get(at + 2) else { return at + 1 };
        if body.delimiter() != Delimiter::Brace {
            return at + 1;
        }
        self.module.push(word(tokens, at + 1));
        self.block(body.stream());
        self.module.pop();
        at + 3
    }

    /// A path or a tree of them that begins at `at`, below `prefix`.
    fn tree(&mut self, prefix: &[String], tokens: &[TokenTree], mut at: usize) -> usize {
        let mut path = prefix.to_vec();
        let start = at;
        loop {
            if colons(tokens, at) {
                at += 2;
            }
            match tokens.get(at) {
                Some(TokenTree::Ident(_)) => path.push(word(tokens, at)),
                Some(TokenTree::Punct(p)) if p.as_char() == '*' => path.push("*".into()),
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                    self.branches(&path, group);
                    return at + 1;
                }
                // `Vec::<T>::new`, or a macro's own syntax: the path ends here.
                _ => {
                    self.push(tokens, start, &path);
                    return at.max(start + 1);
                }
            }
            at += 1;
            if !colons(tokens, at) {
                self.push(tokens, start, &path);
                return at;
            }
        }
    }

    /// `{a, b::c, self}` below `prefix`.
    fn branches(&mut self, prefix: &[String], group: &Group) {
        let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
        for branch in tokens.split(|t| matches!(t, TokenTree::Punct(p) if p.as_char() == ',')) {
            if !branch.is_empty() {
                self.tree(prefix, branch, 0);
            }
        }
    }

    fn push(&mut self, tokens: &[TokenTree], at: usize, path: &[String]) {
        let line = tokens.get(at).map_or(1, |t| t.span().start().line);
        let (path, own) = self.resolve(path);
        if !path.is_empty() {
            self.found.push(Named { line, path, own });
        }
    }

    /// From the crate's root where the path begins there, or by `self` or `super`.
    fn resolve(&self, path: &[String]) -> (Vec<String>, bool) {
        let mut parts = path.iter().filter(|p| *p != "self").cloned().peekable();
        let mut base = match path.first().map(String::as_str) {
            Some("crate" | "banlieue") => {
                parts.next();
                Vec::new()
            }
            Some("self" | "super") => self.module.clone(),
            _ => return (parts.collect(), false),
        };
        while parts.peek().is_some_and(|p| p == "super") {
            parts.next();
            base.pop();
        }
        base.extend(parts);
        (base, true)
    }
}

fn word(tokens: &[TokenTree], at: usize) -> String {
    match tokens.get(at) {
        Some(TokenTree::Ident(ident)) => ident.to_string().trim_start_matches("r#").to_string(),
        _ => String::new(),
    }
}

fn is_path_root(word: &str) -> bool {
    matches!(word, "crate" | "super" | "self")
}

/// Whether `::` stands at `at`.
fn colons(tokens: &[TokenTree], at: usize) -> bool {
    let colon = |at: usize| {
        tokens.get(at).and_then(|t| match t {
            TokenTree::Punct(p) if p.as_char() == ':' => Some(p.spacing()),
            _ => None,
        })
    };
    colon(at) == Some(Spacing::Joint) && colon(at + 1).is_some()
}

fn word_in_brackets(tokens: &[TokenTree], at: usize) -> String {
    match tokens.get(at) {
        Some(TokenTree::Group(g)) => word(&g.stream().into_iter().collect::<Vec<_>>(), 0),
        _ => String::new(),
    }
}
