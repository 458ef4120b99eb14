//! One shell command at work: started in a session of its own, its output read with a limit, ended
//! with all that it has started.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pgdyno_platform::child::{self, Signal};
use pgdyno_spec::command::{ShellCommand, masked};
use pgdyno_wire::redact;

/// Bytes of the output's beginning that are kept, and as many of its end.
const OUTPUT_PART_MAX: usize = 4096;
/// How long the output of a command that has ended is waited for: what it has started in the
/// background may hold it open for ever.
const OUTPUT_WAIT: Duration = Duration::from_millis(200);
/// How long a command has to end after SIGTERM.
pub const GRACE: Duration = Duration::from_secs(2);

/// A command that was started.
#[derive(Debug)]
pub struct Running {
    child: Child,
    output: Arc<Mutex<Output>>,
    pub began: Instant,
    /// When it was asked to end.
    ending_since: Option<Instant>,
}

/// What a command wrote: its beginning and its end.
#[derive(Debug, Default)]
struct Output {
    first: Vec<u8>,
    last: VecDeque<u8>,
    left_out: u64,
    is_over: bool,
}

impl Output {
    fn add(&mut self, bytes: &[u8]) {
        let room = (OUTPUT_PART_MAX - self.first.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.first.extend_from_slice(first);
        self.last.extend(rest);
        let too_many = self.last.len().saturating_sub(OUTPUT_PART_MAX);
        self.last.drain(..too_many);
        self.left_out += too_many as u64;
    }

    fn text(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.first).into_owned();
        if self.left_out > 0 {
            text.push_str("\n…\n");
        }
        let last: Vec<u8> = self.last.iter().copied().collect();
        text.push_str(&String::from_utf8_lossy(&last));
        // A terminal's colours and a bell say nothing in a report.
        let is_plain = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
        let text: String = text.chars().filter(is_plain).collect();
        redact::without_secrets(masked(&text))
    }
}

impl Running {
    /// Starts it.
    ///
    /// # Errors
    /// There is no shell, or no process or thread is to be had.
    pub fn start(command: &ShellCommand, environment: &[(String, String)]) -> io::Result<Self> {
        let (mut from, to) = io::pipe()?;
        let mut shell = Command::new("sh");
        shell
            .args(["-c", command.secret()])
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(to.try_clone()?)
            .stderr(to);
        // Ctrl-C at the terminal is pgdyno's, which ends the command itself.
        child::new_session(&mut shell);
        let output = Arc::<Mutex<Output>>::default();
        let shared = Arc::clone(&output);
        let read = move || {
            let mut bytes = [0; 4096];
            loop {
                match from.read(&mut bytes) {
                    Ok(0) => break,
                    Ok(count) => lock(&shared).add(&bytes[..count]),
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
            }
            lock(&shared).is_over = true;
        };
        let began = Instant::now();
        let child = shell.spawn()?;
        // The command that was given has the other end of the pipe.
        drop(shell);
        let mut running = Self {
            child,
            output,
            began,
            ending_since: None,
        };
        let spawned = thread::Builder::new().name("disturb.output".to_owned());
        if let Err(e) = spawned.spawn(read) {
            running.end_now();
            return Err(e);
        }
        Ok(running)
    }

    /// How it ended, once it has. One that was asked to end and does not is killed.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self
            .ending_since
            .is_some_and(|ending_since| ending_since.elapsed() >= GRACE)
        {
            self.signal(Signal::Kill);
        }
        self.child.try_wait().ok().flatten()
    }

    /// Tells it, and what it has started, to end.
    pub fn end(&mut self) {
        if self.ending_since.is_none() {
            self.ending_since = Some(Instant::now());
            self.signal(Signal::Terminate);
        }
    }

    /// Whether it was asked to end.
    pub fn is_ending(&self) -> bool {
        self.ending_since.is_some()
    }

    /// What it wrote so far, without secrets, and how many bytes are left out.
    pub fn output(&self) -> (String, u64) {
        let end = Instant::now() + OUTPUT_WAIT;
        while !lock(&self.output).is_over && Instant::now() < end {
            thread::sleep(Duration::from_millis(2));
        }
        let output = lock(&self.output);
        (output.text(), output.left_out)
    }

    fn signal(&self, signal: Signal) {
        // It may have ended in this moment.
        let _ = child::send_signal_to_group(self.child.id(), signal);
    }

    fn end_now(&mut self) {
        self.signal(Signal::Kill);
        let _ = self.child.wait();
    }
}

fn lock(output: &Mutex<Output>) -> std::sync::MutexGuard<'_, Output> {
    // A thread that panicked left nothing half done.
    output.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn run(command: &str, tell: bool) -> (ExitStatus, String, u64) {
        let environment = [("GIVEN".to_owned(), "here".to_owned())];
        let mut running = Running::start(&command.into(), &environment).unwrap();
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            if tell && lock(&running.output).first.ends_with(b"ready\n") {
                running.end();
            }
            if let Some(status) = running.ended() {
                let (text, left_out) = running.output();
                return (status, text, left_out);
            }
            assert!(Instant::now() < end, "{command} does not end");
            thread::sleep(Duration::from_millis(2));
        }
    }

    #[test]
    fn output_of_both_streams_is_kept_with_the_exit_code() {
        let (status, text, _) = run("echo $GIVEN; echo no such pod >&2; exit 3", false);
        assert_eq!(status.code(), Some(3));
        assert_eq!(text, "here\nno such pod\n");
    }

    #[test]
    fn secrets_and_control_characters_are_no_part_of_the_output() {
        let (_, text, _) = run("printf 'at postgresql://me:s3cret@h/d \\033[1mx\\n'", false);
        assert_eq!(text, "at postgresql://me:***@h/d [1mx\n");
    }

    #[test]
    fn of_much_output_the_beginning_and_the_end_are_kept() {
        let (status, text, left_out) = run("seq 1 100000", false);
        assert_eq!(status.code(), Some(0));
        assert!(text.starts_with("1\n2\n") && text.ends_with("99999\n100000\n"));
        assert!(text.len() < 3 * OUTPUT_PART_MAX, "{}", text.len());
        assert_eq!(left_out as usize, 588_895 - 2 * OUTPUT_PART_MAX);
    }

    #[test]
    fn a_command_is_ended_with_all_that_it_has_started() {
        let (status, ..) = run("sleep 600 & echo ready; wait", true);
        assert_eq!(status.signal(), Some(15));
    }

    #[test]
    fn one_that_does_not_listen_is_killed() {
        let (status, ..) = run("trap '' TERM; echo ready; while :; do sleep 1; done", true);
        assert_eq!(status.signal(), Some(9));
    }

    #[test]
    fn what_goes_on_in_the_background_holds_nothing_up() {
        let began = Instant::now();
        let (status, text, _) = run("sleep 60 & echo started", false);
        assert_eq!((status.code(), text.as_str()), (Some(0), "started\n"));
        assert!(began.elapsed() < Duration::from_secs(30));
    }
}
