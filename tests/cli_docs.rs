//! The manual says what the code says. `UPDATE_DOCS=1 cargo test` rewrites its generated parts.

mod cli_support;
mod manual;

use avmon::cli::ExitCode;
use manual::{is_up_to_date, path, read, table};
use std::fmt::Write as _;
use std::path::Path;

#[test]
fn options() {
    let rows = avmon::options::table().into_iter();
    let rows =
        rows.map(|row| [format!("`{}`", row.name), row.form.into(), format!("`{}`", row.default), row.help.into()]);
    let text = table(["option", "value", "default", "meaning"], rows);
    is_up_to_date("docs/options.md", "options", &text, str::to_owned);
}

#[test]
fn scenario_run() {
    let mut command = cli_support::avmon(&["scenario", "run", "examples/scenarios/bank-transfer.scn"]);
    let shown = cli_support::end(command.current_dir(path("")));
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(i32::from(ExitCode::Findings.0)), ""));
    is_up_to_date("docs/scenarios.md", "scenario-run", &shown.stdout, str::to_owned);
}

#[test]
fn exit_codes() {
    let rows = ExitCode::TABLE.iter().map(|(code, help)| [code.0.to_string(), (*help).to_owned()]);
    let mut text = table(["code", "meaning"], rows);
    let _ = writeln!(text, "| others | those of the program; a shell shows 128+N for death by signal N |");
    is_up_to_date("docs/running.md", "exit-codes", &text, str::to_owned);
}

#[test]
fn environment() {
    let rows = avmon::cli::VARIABLES.iter().map(|(name, help)| [format!("`{name}`"), (*help).to_owned()]);
    is_up_to_date("docs/running.md", "environment", &table(["variable", "meaning"], rows), str::to_owned);
}

#[test]
fn log_schema() {
    is_up_to_date("docs/log.md", "schema", &avmon::report::json::schema_markdown(), str::to_owned);
}

#[test]
fn suppression_types() {
    let rows = avmon::report::suppressions::TYPES.iter().map(|(name, help)| [format!("`{name}`"), (*help).to_owned()]);
    let text = table(["type", "hides a finding if its template fits"], rows);
    is_up_to_date("docs/rules.md", "suppression-types", &text, str::to_owned);
}

#[test]
fn exclusion_types() {
    let rows = avmon::trace::exclude::TYPES.iter().map(|(name, help)| [format!("`{name}`"), (*help).to_owned()]);
    let text = table(["type", "its template is matched against"], rows);
    is_up_to_date("docs/traces.md", "exclusion-types", &text, str::to_owned);
}

/// Two threads that hand a value over, as events and as the text of other tools.
#[test]
fn std_example() {
    use avmon::event::{Event, Kind};
    let event = |kind, object, line| Event::new(kind, 0, 0, object, line);
    let access = |kind, line| Event::access(kind, 0, 4, 0, 0x7000, line);
    let told = [
        (0, event(Kind::Fork, 1, 1), "the first thread creates another one"),
        (0, event(Kind::Acquire, 0x6000, 2), "takes a mutex,"),
        (0, access(Kind::Write, 3), "writes a variable,"),
        (0, event(Kind::Release, 0x6000, 4), "gives the mutex back"),
        (0, event(Kind::Signal, 0x6040, 5), "and posts a semaphore,"),
        (1, event(Kind::Await, 0x6040, 6), "for which the other thread waited;"),
        (1, access(Kind::Read, 7), "it reads the variable"),
        (0, event(Kind::Join, 1, 8), "and ends"),
    ];
    let mut survey = avmon::export::std::Survey::default();
    for (thread, event, _) in &told {
        survey.step(*thread, event);
    }
    let mut translator = avmon::export::std::Translator::new(survey, false, Vec::new());
    for (thread, event, _) in &told {
        translator.step(*thread, event).unwrap();
    }
    let lines = String::from_utf8(translator.finish().unwrap().0).unwrap();
    let mut text = String::from("```\n");
    for (line, (_, _, meaning)) in lines.lines().zip(told) {
        let _ = writeln!(text, "{line:<16} {meaning}");
    }
    assert_eq!(lines.lines().count(), told.len(), "each has a line");
    is_up_to_date("docs/traces.md", "std-example", &(text + "```\n"), str::to_owned);
}

#[test]
fn scenario_words() {
    use avmon::scenario::words::{Declares, Does};
    let rows = Declares::ALL.iter().map(|word| [format!("`{}`", word.form()), word.meaning().to_owned()]);
    is_up_to_date("docs/scenarios.md", "declarations", &table(["declaration", "what it makes"], rows), str::to_owned);
    let rows = Does::ALL.iter().map(|word| [format!("`{}`", word.form()), word.meaning().to_owned()]);
    is_up_to_date("docs/scenarios.md", "steps", &table(["step", "what it does"], rows), str::to_owned);
}

#[test]
fn scenario_statuses() {
    let meanings = avmon::scenario::c::STATUSES.iter().map(|(_, meaning)| (*meaning).to_owned());
    let rows = meanings.enumerate().map(|(status, meaning)| [status.to_string(), meaning]);
    is_up_to_date("docs/scenarios.md", "statuses", &table(["status", "meaning"], rows), str::to_owned);
}

const APP: &str = "
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counter;
static void *worker(void *argument) {
    for (int i = 0; i < 100; i++) { pthread_mutex_lock(&lock); counter++; pthread_mutex_unlock(&lock); }
    return argument;
}
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, worker, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}
";

/// Types every command on a page as it stands, in a directory with a program. Returns how many there were.
fn type_all(page: &str, directory: &Path) -> usize {
    std::fs::write(directory.join("app.c"), APP).unwrap();
    let binaries = Path::new(cli_support::AVMON).parent().unwrap();
    let search = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap());
    let page = read(page);
    let blocks = page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let lines: Vec<&str> = blocks.flat_map(str::lines).collect();
    for line in &lines {
        let mut shell = cli_support::clean(Path::new("sh"), &["-c", line]);
        let ending = cli_support::end(shell.current_dir(directory).env("PATH", &search));
        assert_eq!(ending.code, Some(0), "{line}: {ending:?}");
        assert!(!ending.stderr.contains("warning") && !ending.stderr.contains("error"), "{line}: {ending:?}");
    }
    lines.len()
}

#[test]
fn the_commands_of_the_page_on_traces_work() {
    let directory = tempfile::tempdir().unwrap();
    let commands = type_all("docs/traces.md", directory.path());
    assert!(commands >= 14, "only {commands} were found");
    for made in ["avmon.data.old", "app.json", "app.std", "app.names"] {
        assert!(directory.path().join(made).exists(), "{made}");
    }
}

#[test]
fn the_commands_of_the_page_on_predicting_work() {
    let directory = tempfile::tempdir().unwrap();
    let commands = type_all("docs/predicting.md", directory.path());
    assert!(commands >= 5, "only {commands} were found");
    assert!(directory.path().join("findings.json").exists());
}

#[test]
fn the_commands_of_the_page_on_confirming_work() {
    let directory = tempfile::tempdir().unwrap();
    let commands = type_all("docs/confirming.md", directory.path());
    assert!(commands >= 6, "only {commands} were found");
    for made in ["avmon.confirm", "hunt", "part4"] {
        assert!(directory.path().join(made).exists(), "{made}");
    }
}

#[test]
fn verdicts() {
    let verdicts = avmon::replay::verdict::Verdict::ALL.iter();
    let rows = verdicts.map(|verdict| [format!("`{}`", verdict.name()), verdict.meaning().to_owned()]);
    is_up_to_date("docs/confirming.md", "verdicts", &table(["verdict", "meaning"], rows), str::to_owned);
}

#[test]
fn filter_reasons() {
    let reasons = avmon::predict::filter::Reason::ALL.iter();
    let rows = reasons.map(|reason| [format!("`{}`", reason.name()), reason.meaning().to_owned()]);
    is_up_to_date("docs/predicting.md", "filter-reasons", &table(["reason", "meaning"], rows), str::to_owned);
}

#[test]
fn strengths() {
    let strengths = avmon::report::finding::Strength::ALL.iter();
    let rows = strengths.map(|strength| [strength.name().to_owned(), strength.meaning().to_owned()]);
    is_up_to_date("docs/reports.md", "strengths", &table(["strength", "meaning"], rows), str::to_owned);
}

#[test]
fn rungs() {
    let rungs = avmon::report::finding::Rung::ALL.iter();
    let rows = rungs.map(|rung| [rung.name().to_owned(), rung.meaning().to_owned()]);
    is_up_to_date("docs/reports.md", "rungs", &table(["rung", "meaning"], rows), str::to_owned);
}

#[test]
fn analyses_and_patterns() {
    let analyses = avmon::report::finding::Analysis::ALL.iter();
    let rows = analyses.map(|analysis| [format!("`{}`", analysis.name()), analysis.meaning().to_owned()]);
    is_up_to_date("docs/reports.md", "analyses", &table(["analysis", "what it looks at"], rows), str::to_owned);
    let patterns = avmon::report::finding::Pattern::ALL.iter();
    let rows = patterns.map(|pattern| [format!("`{}`", pattern.name()), pattern.meaning().to_owned()]);
    is_up_to_date("docs/reports.md", "patterns", &table(["pattern", "what goes wrong"], rows), str::to_owned);
}

#[test]
fn the_report_of_lint_is_real() {
    let prefix = format!("{}/", env!("CARGO_MANIFEST_DIR"));
    let arguments = ["lint", "examples/views/string_buffer.cpp", "--strip-path-prefix", &prefix];
    let shown = cli_support::end(cli_support::avmon(&arguments).current_dir(path("")));
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(i32::from(ExitCode::Findings.0)), ""));
    let text = format!("```\n$ avmon lint examples/views/string_buffer.cpp\n{}```\n", shown.stdout);
    // How many functions come with the headers of the C++ library is its own affair.
    let without_functions = |text: &str| {
        let is_closing = |line: &&str| line.starts_with("avmon: looked at ");
        let lines = text.lines().map(|line| if is_closing(&line) { line.split_once(", ").unwrap().1 } else { line });
        lines.collect::<Vec<_>>().join("\n")
    };
    is_up_to_date("docs/linting.md", "lint", &text, without_functions);
}

#[test]
fn the_commands_of_the_page_on_linting_work() {
    let directory = tempfile::tempdir().unwrap();
    assert!(type_all("docs/linting.md", directory.path()) >= 1);
}

#[test]
fn annotations() {
    let header = read("shim/avmon.h");
    let comment = &header[header.find("/*").unwrap() + 2..header.find("*/").unwrap()];
    let lines = comment.lines().map(|line| line.trim_start_matches(" *").trim_start_matches("* "));
    let mut text = String::from("```\n");
    for line in lines {
        let _ = writeln!(text, "{}", line.trim_end());
    }
    is_up_to_date("docs/annotations.md", "header", &(text.trim_end().to_owned() + "\n```\n"), str::to_owned);
}

/// The report at the top of the README is what the bundled program gives.
#[test]
fn the_report_in_the_readme_is_real() {
    let directory = tempfile::tempdir().unwrap();
    let mut demo = cli_support::avmon(&["demo", "--directory", directory.path().to_str().unwrap()]);
    let ending = cli_support::end(&mut demo);
    assert_eq!(ending.code, Some(0), "{ending:?}");
    let report = report_in(&ending.stdout).replace(&format!("{}/", directory.path().display()), "");
    is_up_to_date("README.md", "demo-report", &format!("```\n{report}```\n"), normalised);
}

/// What the monitored run of the demo printed: from its first separator to the next explanation.
fn report_in(demo: &str) -> String {
    let start = demo.find("\n====").expect("the demo shows a report") + 1;
    let length = demo[start..].find("\n\nHow to read this").expect("the demo explains the report");
    demo[start..=start + length].to_owned()
}

/// Numbers that differ from run to run and from machine to machine become `N`: addresses, process ids, columns.
fn normalised(text: &str) -> String {
    let mut result = String::new();
    for word in text.split_inclusive(|c: char| c.is_whitespace() || "()+=.,:".contains(c)) {
        let (body, end) = word.split_at(word.trim_end_matches(|c: char| !c.is_alphanumeric()).len());
        let is_address = body.starts_with("0x");
        let is_process_id = result.ends_with("pid=") || result.ends_with("log.");
        // Compilers agree on lines, less so on columns.
        let is_column = result.ends_with(':') && result.trim_end_matches(':').ends_with(|c: char| c.is_ascii_digit());
        let differs = is_address || is_process_id || (is_column && body.parse::<u32>().is_ok());
        result += if differs { "N" } else { body };
        result += end;
    }
    result
}

#[test]
fn every_page_is_linked_and_every_link_leads_somewhere() {
    let mut pages = vec!["README.md".to_owned()];
    for entry in std::fs::read_dir(path("docs")).unwrap() {
        pages.push(format!("docs/{}", entry.unwrap().file_name().to_str().unwrap()));
    }
    let readme = read("README.md");
    for page in &pages {
        assert!(page == "README.md" || readme.contains(&format!("({page})")), "README.md does not link to {page}");
        let text = read(page);
        for link in text.split("](").skip(1).map(|rest| &rest[..rest.find(')').unwrap()]) {
            let target = link.split('#').next().unwrap();
            if !target.is_empty() && !target.starts_with("http") {
                let target = path(page).parent().unwrap().join(target);
                assert!(target.exists(), "{page} links to {link}, which does not exist");
            }
        }
    }
}
