use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::queue::Queue;
use super::{Caller, Pool, Task, Threads};

/// Counts the runs of every index. One index may be slow and one may panic.
#[derive(Default)]
struct Counting {
    runs: Vec<AtomicUsize>,
    /// The number of runs and panics of all indices.
    done: AtomicUsize,
    slow: Option<usize>,
    panicking: Option<usize>,
    panics: Mutex<Vec<(usize, String)>>,
}

impl Counting {
    fn new(count: usize) -> Self {
        Self { runs: (0..count).map(|_| AtomicUsize::new(0)).collect(), ..Self::default() }
    }

    fn runs(&self) -> Vec<usize> {
        self.runs.iter().map(|runs| runs.load(Ordering::Relaxed)).collect()
    }
}

impl Task for Counting {
    fn run(&self, index: usize) {
        if self.slow == Some(index) {
            thread::sleep(Duration::from_millis(50));
        }
        assert!(self.panicking != Some(index), "index {index} was told to panic");
        self.runs[index].fetch_add(1, Ordering::Relaxed);
        self.done.fetch_add(1, Ordering::Release);
    }

    fn panicked(&self, index: usize, message: String) {
        self.panics.lock().unwrap().push((index, message));
        self.done.fetch_add(1, Ordering::Release);
    }
}

fn pool_with(caller: Caller, num_threads: usize, task: Counting) -> Pool<Counting> {
    let count = task.runs.len();
    let threads = Threads { count: NonZeroUsize::new(num_threads).unwrap(), caller, affinity_offset: None };
    Pool::new(threads, count, task).unwrap()
}

fn pool(num_threads: usize, task: Counting) -> Pool<Counting> {
    pool_with(Caller::Participates, num_threads, task)
}

/// Runs the pool until `done` jobs have finished.
fn finish(pool: &Pool<Counting>, done: usize) {
    let is_over = || pool.task().done.load(Ordering::Acquire) == done;
    pool.run_until(is_over, || {
        while !is_over() {
            thread::yield_now();
        }
    });
}

#[test]
fn every_index_runs_once_a_round() {
    for num_threads in [1, 2, 3, 8] {
        for count in [0, 1, 2, 7, 64, 1000] {
            let mut pool = pool(num_threads, Counting::new(count));
            for round in 1..=50 {
                pool.start_round(count);
                finish(&pool, round * count);
                assert_eq!(pool.task().runs(), vec![round; count]);
            }
        }
    }
}

#[test]
fn runs_the_queue_with_and_without_the_caller() {
    for caller in [Caller::Participates, Caller::Waits] {
        for num_threads in [1, 2, 3] {
            let mut pool = pool_with(caller, num_threads, Counting::new(100));
            for round in 1..=50 {
                for part in [90..100, 0..45, 45..90] {
                    pool.enqueue(part);
                }
                finish(&pool, round * 100);
                assert_eq!(pool.task().runs(), [round; 100]);
            }
        }
    }
}

#[test]
fn parked_threads_wake_up_for_a_new_round() {
    let mut pool = pool(3, Counting::new(10));
    for round in 1..=5 {
        // Longer than any thread searches, so that all are parked. The caller does not participate yet.
        thread::sleep(Duration::from_millis(10));
        pool.start_round(10);
        let deadline = Instant::now() + Duration::from_secs(10);
        while pool.task().runs() != [round; 10] {
            assert!(Instant::now() < deadline, "round {round}: {:?}", pool.task().runs());
            thread::yield_now();
        }
        finish(&pool, 10 * round);
    }
}

#[test]
fn steals_the_neighbours_of_a_slow_index() {
    let slow = Counting { slow: Some(0), ..Counting::new(4) };
    let mut pool = pool(2, slow);
    pool.start_round(4);
    thread::scope(|scope| {
        // Index 0 is slow and in the caller's share, like index 1, which the other thread must therefore steal.
        let task = pool.shared.as_ref();
        scope.spawn(|| {
            let deadline = Instant::now() + Duration::from_secs(10);
            while task.task.runs()[1] == 0 {
                assert!(Instant::now() < deadline, "index 1 was not stolen");
                thread::yield_now();
            }
            assert_eq!(task.task.runs()[0], 0, "index 1 waited for index 0");
        });
        finish(&pool, 4);
    });
    assert_eq!(pool.task().runs(), [1, 1, 1, 1]);
}

#[test]
fn reports_a_panic_and_continues() {
    for num_threads in [1, 3] {
        let panicking = Counting { panicking: Some(5), ..Counting::new(8) };
        let mut pool = pool(num_threads, panicking);
        for round in 1..=3 {
            pool.start_round(8);
            finish(&pool, round * 8);
            let panics = pool.task().panics.lock().unwrap().clone();
            assert_eq!(panics, vec![(5, "index 5 was told to panic".to_owned()); round]);
            assert_eq!(pool.task().runs()[7], round);
        }
    }
}

#[test]
fn dropping_a_busy_pool_ends_its_threads() {
    let slow = Counting { slow: Some(90), ..Counting::new(100) };
    let mut pool = pool(4, slow);
    pool.start_round(100);
    let shared = std::sync::Arc::clone(&pool.shared);
    drop(pool);
    assert_eq!(std::sync::Arc::strong_count(&shared), 1, "a thread is still running");
}

#[test]
fn the_queue_is_fifo_and_reuses_its_entries() {
    let queue = Queue::new(3);
    assert_eq!(queue.pop(), None);
    for round in 0..10 {
        queue.push(round);
        queue.push(round + 1);
        assert_eq!((queue.pop(), queue.pop(), queue.pop()), (Some(round), Some(round + 1), None));
    }
}

/// Pops until all threads together have popped `count` indices. Returns the number and the sum of those that this
/// thread has popped.
fn pop_until(queue: &Queue, total: &AtomicUsize, count: usize) -> (usize, usize) {
    let (mut popped, mut sum) = (0, 0);
    while total.load(Ordering::Relaxed) < count {
        if let Some(index) = queue.pop() {
            sum += index;
            popped += 1;
            total.fetch_add(1, Ordering::Relaxed);
        }
    }
    (popped, sum)
}

#[test]
fn every_index_is_popped_by_one_thread() {
    const COUNT: usize = 20_000;
    let queue = Queue::new(COUNT);
    let total = AtomicUsize::new(0);
    let (popped, sum) = thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| pop_until(&queue, &total, COUNT))).collect();
        (0..COUNT).for_each(|index| queue.push(index));
        threads.into_iter().map(|thread| thread.join().unwrap()).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
    });
    assert_eq!((popped, sum), (COUNT, COUNT * (COUNT - 1) / 2));
}
