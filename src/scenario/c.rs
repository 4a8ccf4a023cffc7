//! A scenario as a C program with real threads, which runs it in a given order.
//!
//! What all such programs share is in `shim/scenario.h`. Every step has the line and the column that it has in the scenario, so
//! whatever speaks of the program's code speaks of the scenario. What no step says has the line where its thread begins, or line 1.

use super::machine::{Effect, Machine, Taken};
use super::program::Place;
use super::run::Run;
use super::tree::{Action, ObjectId, ObjectKind, Operator, Register, Scenario, Step, Thread, ThreadIndex, Value};
use super::words::Does;
use std::fmt::{self, Write as _};

const MARKS: &str = include_str!("../../shim/avmon.h");
const SHARED: &str = include_str!("../../shim/scenario.h");

/// How the program can end, by its exit status: the name in C, and what it means.
pub const STATUSES: [(&str, &str); 6] = [
    ("DONE", "all threads came to their end"),
    ("ASSERTION_FAILED", "the same, but an assertion failed"),
    ("WRONG_ARGUMENT", "it was given an argument that it does not know"),
    ("DEADLOCK", "the order is done, and some threads can never go on"),
    ("ORDER_NOT_KEPT", "the order could not be kept: nothing happened for ten seconds"),
    ("NO_THREAD", "a thread could not be created"),
];

/// Turns of the order in one line of text.
const TURNS_PER_LINE: usize = 12;

impl Machine<'_> {
    /// Where each step of a run was taken.
    #[must_use]
    pub fn places(&self, run: &Run) -> Vec<Place> {
        let mut log = Vec::new();
        let mut state = self.start(&mut log);
        let step = |&thread: &ThreadIndex| {
            let place = self.next(&state, thread);
            log.clear();
            self.step(&mut state, thread, &mut log);
            place
        };
        run.order.iter().filter_map(step).collect()
    }
}

/// The text of a C program that runs as `run` did. `path` is where the scenario comes from.
#[must_use]
pub fn text_of(scenario: &Scenario, machine: &Machine<'_>, run: &Run, path: &str) -> String {
    let mut writer = Writer { scenario, machine, run, path, text: String::new(), loops: 0 };
    // A String takes whatever is written to it.
    let _ = writer.program();
    writer.text
}

/// Where the threads stand that cannot go on at the end of a run: `t1 at file.scn:7, t2 at file.scn:9`.
#[must_use]
pub fn stuck(scenario: &Scenario, machine: &Machine<'_>, run: &Run, path: &str) -> String {
    let place = |place: &Place| {
        let thread = &scenario.threads[place.thread as usize].name;
        format!("{thread} at {path}:{}", machine.program.at(*place).at.line)
    };
    run.stuck.iter().map(place).collect::<Vec<_>>().join(", ")
}

struct Writer<'a> {
    scenario: &'a Scenario,
    machine: &'a Machine<'a>,
    run: &'a Run,
    path: &'a str,
    text: String,
    /// Loops around.
    loops: usize,
}

/// No name of C or its library ends like this.
fn name(of: &str) -> String {
    // Only a thread can be called by a number.
    if of.starts_with(|c: char| c.is_ascii_digit()) { format!("thread_{of}") } else { format!("{of}_") }
}

/// What is known of a thread while it runs.
fn handle(of: &Thread) -> String {
    format!("{}data", name(&of.name))
}

/// The count of those who have arrived at a barrier.
fn arrived(barrier: &str) -> String {
    format!("{}arrived", name(barrier))
}

/// A string literal. Whatever is not plain is written as a number, of which an octal one has three digits at most.
fn literal(text: &str) -> String {
    let mut literal = String::from("\"");
    for byte in text.bytes() {
        match byte {
            // A question mark could begin a trigraph.
            b'"' | b'\\' | b'?' | 0..0x20 | 0x7f.. => {
                let _ = write!(literal, "\\{byte:03o}");
            }
            _ => literal.push(char::from(byte)),
        }
    }
    literal + "\""
}

fn number(value: i64) -> String {
    // Its digits alone would be too large a number, with a minus before them.
    if value == i64::MIN { "LONG_MIN".to_owned() } else { value.to_string() }
}

impl Writer<'_> {
    fn program(&mut self) -> fmt::Result {
        writeln!(self.text, "/* The scenario {}, as C. */", self.path.replace("*/", "* /"))?;
        writeln!(self.text, "#define _GNU_SOURCE\n\n/* The exit status. */\nenum {{")?;
        for (name, meaning) in STATUSES {
            writeln!(self.text, "    {name}, /* {meaning} */")?;
        }
        writeln!(self.text, "}};")?;
        for (file, text) in [("avmon.h", MARKS), ("scenario.h", SHARED)] {
            writeln!(self.text, "\n#line 1 \"{file}\"\n{}", text.trim_end())?;
        }
        writeln!(self.text)?;
        self.line(1)?;
        writeln!(self.text, "/* The objects of the scenario. */")?;
        for object in &self.scenario.objects {
            writeln!(self.text, "{}", declaration(&object.name, object.kind))?;
        }
        writeln!(self.text)?;
        for thread in &self.scenario.threads {
            writeln!(self.text, "static void *{}(void *unused);", name(&thread.name))?;
            writeln!(self.text, "static struct thread {};", handle(thread))?;
        }
        for index in 0..self.scenario.threads.len() {
            self.thread(index)?;
        }
        writeln!(self.text)?;
        self.line(1)?;
        self.plan()?;
        self.values()?;
        self.main()
    }

    /// The next line of text counts as this one of the scenario.
    fn line(&mut self, line: u32) -> fmt::Result {
        writeln!(self.text, "#line {line} {}", literal(self.path))
    }

    fn thread(&mut self, index: ThreadIndex) -> fmt::Result {
        let thread = &self.scenario.threads[index];
        writeln!(self.text)?;
        self.line(first_line(thread))?;
        writeln!(self.text, "static void *{}(void *unused) {{", name(&thread.name))?;
        for register in &thread.registers {
            writeln!(self.text, "    long {} = 0;", name(register))?;
        }
        writeln!(self.text, "    (void)unused;")?;
        for register in &thread.registers {
            writeln!(self.text, "    (void){};", name(register))?;
        }
        writeln!(self.text, "    begin_thread({index});")?;
        self.steps(thread, &thread.steps)?;
        writeln!(self.text, "    return end_thread();\n}}")
    }

    fn steps(&mut self, thread: &Thread, steps: &[Step]) -> fmt::Result {
        steps.iter().try_for_each(|step| self.step(thread, step))
    }

    fn step(&mut self, thread: &Thread, step: &Step) -> fmt::Result {
        let code = self.code(thread, step);
        self.line(step.at.line)?;
        let indentation = (step.at.column as usize).saturating_sub(1);
        write!(self.text, "{:indentation$}{code}", "")?;
        match &step.action {
            Action::If { then, otherwise, .. } => {
                writeln!(self.text, " {{")?;
                self.steps(thread, then)?;
                if !otherwise.is_empty() {
                    writeln!(self.text, "{:indentation$}}} else {{", "")?;
                    self.steps(thread, otherwise)?;
                }
                writeln!(self.text, "{:indentation$}}}", "")
            }
            Action::While { body, .. } => {
                writeln!(self.text, " {{")?;
                self.loops += 1;
                self.steps(thread, body)?;
                self.loops -= 1;
                writeln!(self.text, "{:indentation$}}}", "")
            }
            _ => writeln!(self.text, ";"),
        }
    }

    /// The code of a step; of `if` and `while` what precedes the brace.
    fn code(&self, thread: &Thread, step: &Step) -> String {
        let object = |id: &ObjectId| name(&self.scenario.objects[*id].name);
        let kind = |id: &ObjectId| self.scenario.objects[*id].kind;
        let value = |value: &Value| self.value(thread, value);
        let set = |register: &Register| format!("{} = ", name(&thread.registers[*register]));
        let into = |register: &Option<Register>| register.as_ref().map_or(String::new(), set);
        let other = |id: &ThreadIndex| &self.scenario.threads[*id];
        let visible = match &step.action {
            Action::Acquire(lock) if kind(lock) == ObjectKind::RwLock => {
                format!("pthread_rwlock_wrlock(&{})", object(lock))
            }
            Action::Acquire(lock) => format!("pthread_mutex_lock(&{})", object(lock)),
            Action::AcquireShared(lock) => format!("pthread_rwlock_rdlock(&{})", object(lock)),
            Action::Release(lock) if kind(lock) == ObjectKind::RwLock => {
                format!("pthread_rwlock_unlock(&{})", object(lock))
            }
            Action::Release(lock) => format!("pthread_mutex_unlock(&{})", object(lock)),
            Action::Try { into, object: of } => {
                let function = match kind(of) {
                    ObjectKind::RwLock => "pthread_rwlock_trywrlock",
                    ObjectKind::Semaphore(_) => "sem_trywait",
                    _ => "pthread_mutex_trylock",
                };
                format!("{}{function}(&{}) == 0", set(into), object(of))
            }
            Action::TryShared { into, object: of } => {
                format!("{}pthread_rwlock_tryrdlock(&{}) == 0", set(into), object(of))
            }
            Action::Read { into: Some(into), variable } => {
                format!("{}{}; KEEP({})", set(into), object(variable), name(&thread.registers[*into]))
            }
            Action::Read { into: None, variable } => format!("KEEP({})", object(variable)),
            Action::Write { variable, value: new } => format!("{} = {}", object(variable), value(new)),
            Action::Load { into: register, atomic } => format!("{}atomic_load(&{})", into(register), object(atomic)),
            Action::Store { atomic, value: new } => format!("atomic_store(&{}, {})", object(atomic), value(new)),
            Action::Add { into: register, atomic, value: by } => {
                format!("{}atomic_fetch_add(&{}, {})", into(register), object(atomic), value(by))
            }
            Action::Swap { into: register, atomic, value: new } => {
                format!("{}atomic_exchange(&{}, {})", into(register), object(atomic), value(new))
            }
            Action::CompareExchange { into: register, atomic, expected, new } => {
                let (into, atomic, expected, new) = (into(register), object(atomic), value(expected), value(new));
                format!("{into}atomic_compare_exchange_strong(&{atomic}, &(long){{{expected}}}, {new})")
            }
            Action::Fork(child) => format!("FORK({}, {})", handle(other(child)), name(&other(child).name)),
            Action::Join(child) => format!("JOIN({})", handle(other(child))),
            Action::WaitCondition { condition, lock } => {
                let (condition, lock) = (object(condition), object(lock));
                format!("fall_asleep(&{lock}); pthread_cond_wait(&{condition}, &{lock})")
            }
            Action::Wait(of) => match kind(of) {
                // Going on is a step of its own.
                ObjectKind::Barrier(most) => {
                    let counter = arrived(&self.scenario.objects[*of].name);
                    format!("arrive(&{counter}, {most}); pthread_barrier_wait(&{}); TURN()", object(of))
                }
                _ => format!("sem_wait(&{})", object(of)),
            },
            Action::Signal(condition) => format!("pthread_cond_signal(&{})", object(condition)),
            Action::Broadcast(condition) => format!("pthread_cond_broadcast(&{})", object(condition)),
            Action::Post(semaphore) => format!("sem_post(&{})", object(semaphore)),
            local => return self.local(thread, step, local),
        };
        format!("TURN(); {visible}")
    }

    /// The code of a step that concerns nobody else.
    fn local(&self, thread: &Thread, step: &Step, action: &Action) -> String {
        let value = |value: &Value| self.value(thread, value);
        match action {
            Action::Begin(label) => {
                let label = label.as_ref().map_or("0".to_owned(), |label| literal(label));
                format!("AVMON_ATOMIC_BEGIN({label})")
            }
            Action::End => "AVMON_ATOMIC_END()".to_owned(),
            Action::Set { register, value: new } => format!("{} = {}", name(&thread.registers[*register]), value(new)),
            Action::Assert(condition) => {
                let (path, line, written) = (self.path, step.at.line, self.scenario.text_of(thread, action));
                let written = written.strip_prefix(Does::Assert.text()).unwrap_or(&written).trim_start();
                let text = format!("{path}:{line}: assertion failed: {written}");
                format!("ASSERT({}, {})", value(condition), literal(&text))
            }
            Action::If { condition, .. } => format!("if ({})", value(condition)),
            Action::While { condition, most, .. } => {
                let count = format!("turns{}", self.loops);
                format!("for (int {count} = 0; {count} < {most} && ({}); {count}++)", value(condition))
            }
            _ => String::new(),
        }
    }

    fn value(&self, thread: &Thread, value: &Value) -> String {
        match value {
            Value::Number(value) => number(*value),
            Value::Register(register) => name(&thread.registers[*register]),
            Value::Not(value) => format!("!{}", self.operand(thread, value)),
            Value::Negative(value) => format!("negate({})", self.value(thread, value)),
            Value::Binary(operator, left, right) => match function(*operator) {
                Some(function) => format!("{function}({}, {})", self.value(thread, left), self.value(thread, right)),
                None => {
                    format!("{} {} {}", self.operand(thread, left), operator.text(), self.operand(thread, right))
                }
            },
        }
    }

    /// A value beside an operator.
    fn operand(&self, thread: &Thread, value: &Value) -> String {
        let text = self.value(thread, value);
        match value {
            Value::Binary(operator, ..) if function(*operator).is_none() => format!("({text})"),
            Value::Not(_) | Value::Number(..0) => format!("({text})"),
            _ => text,
        }
    }

    /// The order, and what becomes of it.
    fn plan(&mut self) -> fmt::Result {
        writeln!(self.text, "static const char *const threads[] = {{")?;
        for thread in &self.scenario.threads {
            writeln!(self.text, "    {},", literal(&thread.name))?;
        }
        // C has no empty arrays.
        writeln!(self.text, "    0}};\n\n/* Whose step comes when, and its line in the scenario. */")?;
        writeln!(self.text, "static const struct turn order[] = {{")?;
        for places in self.machine.places(self.run).chunks(TURNS_PER_LINE) {
            let line = |place: &Place| self.machine.program.at(*place).at.line;
            let turns: Vec<String> =
                places.iter().map(|place| format!("{{{}, {}}},", place.thread, line(place))).collect();
            writeln!(self.text, "    {}", turns.join(" "))?;
        }
        writeln!(self.text, "    {{0, 0}}}};\n")?;
        let stuck = stuck(self.scenario, self.machine, self.run, self.path);
        let stuck = if stuck.is_empty() { "0".to_owned() } else { literal(&stuck) };
        let (path, steps) = (literal(self.path), self.run.order.len());
        let roots = self.machine.program.parents.iter().filter(|parent| parent.is_none()).count();
        let is_fork = |taken: &&Taken| matches!(taken.effect, Effect::Forked(_));
        let begin = roots + self.run.log.iter().filter(is_fork).count();
        writeln!(
            self.text,
            "static const struct scenario plan = {{{path}, threads, order, {steps}, {begin}, {stuck}}};\n"
        )
    }

    fn values(&mut self) -> fmt::Result {
        writeln!(self.text, "UNSEEN static void print_values(void) {{")?;
        for object in &self.scenario.objects {
            let here = name(&object.name);
            let value = match object.kind {
                ObjectKind::Variable(_) => here,
                ObjectKind::Atomic(_) => format!("atomic_load(&{here})"),
                _ => continue,
            };
            writeln!(self.text, "    printf(\"{} = %ld\\n\", {value});", object.name)?;
        }
        writeln!(self.text, "}}\n")
    }

    /// Creates the threads that nobody forks, and joins those that nobody joins.
    fn main(&mut self) -> fmt::Result {
        let (scenario, program) = (self.scenario, self.machine.program);
        self.line(1)?;
        writeln!(self.text, "int main(int count, char **arguments) {{")?;
        self.statement(1, "begin(&plan, count, arguments)")?;
        for object in &scenario.objects {
            let here = name(&object.name);
            match object.kind {
                ObjectKind::Barrier(most) => self.statement(1, &format!("pthread_barrier_init(&{here}, 0, {most})"))?,
                ObjectKind::Semaphore(units) => self.statement(1, &format!("sem_init(&{here}, 0, {units})"))?,
                _ => {}
            }
        }
        for (index, thread) in scenario.threads.iter().enumerate() {
            if program.parents[index].is_none() {
                let fork = format!("FORK({}, {})", handle(thread), name(&thread.name));
                self.statement(first_line(thread), &fork)?;
            }
        }
        self.statement(1, "open_order()")?;
        if !self.run.stuck.is_empty() {
            self.statement(1, "end_in_deadlock(print_values)")?;
        }
        self.statement(1, "await_all()")?;
        for (index, thread) in scenario.threads.iter().enumerate() {
            if program.is_joined[index] {
                continue;
            }
            // A fork in a branch may not have happened.
            let condition = program.parents[index]
                .map_or(String::new(), |_| format!("if (value_of(&{}.is_started)) ", handle(thread)));
            self.statement(first_line(thread), &format!("{condition}JOIN({})", handle(thread)))?;
        }
        self.statement(1, "return end(print_values)")?;
        writeln!(self.text, "}}")
    }

    fn statement(&mut self, line: u32, code: &str) -> fmt::Result {
        self.line(line)?;
        writeln!(self.text, "    {code};")
    }
}

/// Where the thread begins.
fn first_line(thread: &Thread) -> u32 {
    thread.steps.first().map_or(1, |step| step.at.line)
}

/// The function of an operator that C does not have with this meaning.
const fn function(operator: Operator) -> Option<&'static str> {
    match operator {
        Operator::Plus => Some("add"),
        Operator::Minus => Some("subtract"),
        Operator::Times => Some("multiply"),
        Operator::Divided => Some("divide"),
        Operator::Remainder => Some("modulo"),
        _ => None,
    }
}

fn declaration(plain: &str, kind: ObjectKind) -> String {
    let here = name(plain);
    let definition = match kind {
        ObjectKind::Lock => format!("pthread_mutex_t {here} = PTHREAD_MUTEX_INITIALIZER"),
        ObjectKind::Recursive => format!("pthread_mutex_t {here} = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP"),
        ObjectKind::RwLock => format!("pthread_rwlock_t {here} = PTHREAD_RWLOCK_INITIALIZER"),
        ObjectKind::Condition => format!("pthread_cond_t {here} = PTHREAD_COND_INITIALIZER"),
        ObjectKind::Barrier(_) => format!("unsigned {};\nOBJECT pthread_barrier_t {here}", arrived(plain)),
        ObjectKind::Semaphore(_) => format!("sem_t {here}"),
        ObjectKind::Variable(value) => format!("long {here} = {}", number(value)),
        ObjectKind::Atomic(value) => format!("atomic_long {here} = {}", number(value)),
    };
    format!("OBJECT {definition};")
}
