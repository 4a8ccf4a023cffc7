//! The sanitizers' templates: text that must occur in a name, with `*` for anything, `^` and `$` for its ends.

/// A parsed template.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Template {
    text: String,
    /// The literal parts between the `*`s, in order.
    parts: Vec<String>,
    at_begin: bool,
    at_end: bool,
}

/// What is wrong with a template, and at which character of it (counted from 1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TemplateError {
    pub column: usize,
    pub message: &'static str,
}

impl Template {
    /// Parses a template. `^` means the beginning only as its first character, so `operator^` needs no escape.
    pub fn parse(text: &str) -> Result<Template, TemplateError> {
        let (at_begin, body) = text.strip_prefix('^').map_or((false, text), |rest| (true, rest));
        let (at_end, body) = body.strip_suffix('$').map_or((false, body), |rest| (true, rest));
        if body.is_empty() {
            return Err(TemplateError { column: 1, message: "empty template; write part of a name" });
        }
        if let Some(index) = body.find('$') {
            let column = text[..index + usize::from(at_begin)].chars().count() + 1;
            return Err(TemplateError { column, message: "text after '$', which stands for the end of the name" });
        }
        let parts = body.split('*').map(str::to_owned).collect();
        Ok(Template { text: text.to_owned(), parts, at_begin, at_end })
    }

    /// The template as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether `name` fits. No template fits an empty name: it stands for something unknown.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        if name.is_empty() {
            return false;
        }
        let Some((first, after_first)) = self.parts.split_first() else { return false };
        let Some((last, middle)) = after_first.split_last() else {
            return match (self.at_begin, self.at_end) {
                (true, true) => name == first,
                (true, false) => name.starts_with(first),
                (false, true) => name.ends_with(first),
                (false, false) => name.contains(first),
            };
        };
        let find = |rest: &'_ str, part: &str| rest.find(part).map(|at| at + part.len());
        let begun = if self.at_begin { name.starts_with(first).then_some(first.len()) } else { find(name, first) };
        let Some(mut at) = begun else { return false };
        for part in middle {
            let Some(length) = find(&name[at..], part) else { return false };
            at += length;
        }
        if self.at_end { name[at..].ends_with(last) } else { name[at..].contains(last) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(template: &str, name: &str) -> bool {
        Template::parse(template).unwrap().matches(name)
    }

    #[test]
    fn plain_text_fits_anywhere() {
        assert!(fits("pend", "append"));
        assert!(!fits("pend", "apples"));
        assert!(!fits("x", ""));
    }

    #[test]
    fn ends_are_anchored() {
        assert!(fits("^append$", "append"));
        assert!(!fits("^append$", "append_all"));
        assert!(!fits("^append$", "do_append"));
        assert!(fits("^app", "append") && !fits("^pend", "append"));
        assert!(fits("end$", "append") && !fits("app$", "append"));
    }

    #[test]
    fn an_end_fits_the_last_of_several_occurrences() {
        assert!(fits("foo$", "foofoo"));
        assert!(fits("^a*foo$", "a_foo_foo"));
        assert!(!fits("^foo*foo$", "foo"), "the two parts must not overlap");
    }

    #[test]
    fn stars_stand_for_any_text() {
        assert!(fits("Log::*append*(", "Log::Writer::append_line(int)"));
        assert!(!fits("a*b*c", "acb"));
        assert!(fits("*", "anything"));
        assert!(fits("^*.so$", "libx.so"));
        assert!(fits("lib*", "/usr/lib/x"));
    }

    #[test]
    fn a_caret_inside_is_itself() {
        assert!(fits("operator^", "Set::operator^(Set)"));
    }

    #[test]
    fn empty_templates_and_text_after_the_end_are_errors() {
        for text in ["", "^", "$", "^$"] {
            assert_eq!(Template::parse(text).unwrap_err().column, 1, "{text:?}");
        }
        assert_eq!(Template::parse("^ab$c").unwrap_err().column, 4);
        assert_eq!(Template::parse("é$c$").unwrap_err().column, 2);
    }
}
