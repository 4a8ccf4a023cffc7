//! Work on all cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Does `work` for 0 up to `count`, unless it is stopped before.
pub fn in_parallel<T: Send>(
    jobs: usize,
    count: usize,
    stop: &(dyn Fn() -> bool + Sync),
    work: impl Fn(usize) -> T + Sync,
) -> Vec<Option<T>> {
    let mut results: Vec<Option<T>> = (0..count).map(|_| None).collect();
    let done = share(jobs, count, stop, |index, done: &mut Vec<(usize, T)>| done.push((index, work(index))));
    for (index, result) in done.into_iter().flatten() {
        results[index] = Some(result);
    }
    results
}

/// Workers take the numbers from 0 up to `count` in turn, and each collects what it finds.
pub fn share<T: Default + Send>(
    jobs: usize,
    count: usize,
    stop: &(dyn Fn() -> bool + Sync),
    work: impl Fn(usize, &mut T) + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut found = T::default();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count || stop() {
                return found;
            }
            work(index, &mut found);
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(worker)).collect();
        // A panic in a worker is a panic here.
        let join = |worker: thread::ScopedJoinHandle<'_, T>| {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        workers.into_iter().map(join).collect()
    })
}
