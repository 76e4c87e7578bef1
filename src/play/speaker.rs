use std::io::Write;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use ale::SOUND_RATE;
use anyhow::{Result, bail};

/// The programs that play 8-bit mono samples from standard input, with their arguments. The first one that is installed
/// is used.
const PLAYERS: [(&str, &[&str]); 4] = [
    ("pacat", &["--raw", "--format=u8", "--channels=1", "--latency-msec=60", "--rate", RATE]),
    ("aplay", &["--quiet", "--file-type=raw", "--format=U8", "--channels=1", "--rate", RATE]),
    ("play", &["-q", "-t", "raw", "-e", "unsigned", "-b", "8", "-c", "1", "-r", RATE, "-"]),
    ("ffplay", &["-nodisp", "-loglevel", "quiet", "-f", "u8", "-ch_layout", "mono", "-ar", RATE, "-i", "-"]),
];
/// Stands for the number of samples per second.
const RATE: &str = "RATE";
/// The time after which a program that finds no device has ended.
const START: Duration = Duration::from_millis(200);
/// The number of steps whose sound may wait for the player.
const WAITING_STEPS: usize = 6;

/// Plays the sound of a game with a program of the system.
pub(super) struct Speaker {
    samples: SyncSender<Vec<u8>>,
    player: Child,
}

impl Speaker {
    /// Starts the program. Fails if none is installed, or all of them end at once.
    pub(super) fn start() -> Result<Self> {
        let rate = SOUND_RATE.to_string();
        for (name, arguments) in PLAYERS {
            let player = Command::new(name)
                .args(
                    arguments.iter().map(|&argument| if argument == RATE { rate.as_str() } else { argument }),
                )
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn();
            let Ok(mut player) = player else { continue };
            thread::sleep(START);
            if let (Some(stdin), Ok(None)) = (player.stdin.take(), player.try_wait()) {
                let (samples, received) = sync_channel(WAITING_STEPS);
                thread::spawn(|| pass_on(received, stdin));
                return Ok(Self { samples, player });
            }
        }
        let names = PLAYERS.map(|(name, _)| name).join(", ");
        bail!("--sound needs a device for sound and one of these programs: {names}")
    }

    /// Plays the samples of a step. They are dropped if the program is late or has ended: the game does not wait.
    pub(super) fn play(&self, samples: &[u8]) {
        let _ = self.samples.try_send(samples.to_vec());
    }
}

impl Drop for Speaker {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.player.kill();
        let _ = self.player.wait();
    }
}

/// Writes samples until there are no more, or the program ends.
fn pass_on(samples: Receiver<Vec<u8>>, mut stdin: ChildStdin) {
    for step in samples {
        if stdin.write_all(&step).is_err() {
            return;
        }
    }
}
