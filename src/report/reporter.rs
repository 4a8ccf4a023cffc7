use crate::event::ThreadId; use crate::analysis::Violation; use std::time::Duration;
#[derive(Default)] pub struct ThreadInfo { pub name: String, pub parent: Option<ThreadId>, pub created_at: u64, pub start_routine: u64 }
pub trait Process { fn thread(&self, id: ThreadId) -> ThreadInfo; fn pid(&self) -> u32; }
#[derive(Default, Debug)] pub struct Totals { pub events: u64, pub lost: u64, pub unseen: u64, pub order_gaps: u64, pub threads: u64, pub locks: u64, pub duration: Duration }
pub enum Verdict { New{strong: bool} }
pub type SetupError = String;
pub struct Reporter;
impl Reporter { pub fn for_this_process(_: &crate::options::Options) -> Result<Reporter, SetupError> { Ok(Reporter) } pub fn violation(&mut self, _: &Violation, _: &dyn Process) -> Verdict { Verdict::New{strong: false} } pub fn strong(&self) -> usize {0} pub fn finish(&mut self, t: &Totals, _: &mut dyn Iterator<Item=(u64,u64)>) { if std::env::var_os("AVT").is_some() { eprintln!("{t:?}"); } } }
