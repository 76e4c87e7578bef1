//! Controllers, console switches and their wiring.

use serde::{Deserialize, Serialize};

/// A kind of controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Controller {
    /// A joystick with one button.
    #[default]
    Joystick,
    /// A pair of paddles.
    Paddles,
    /// No controller; wired like a joystick at rest.
    None,
}

/// The controllers in the two ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wiring {
    /// The left port.
    pub left: Controller,
    /// The right port.
    pub right: Controller,
    /// True if player A's joystick is in the right port and player B's in the left (surround, `wizard_of_wor`).
    pub swap_ports: bool,
    /// True if the two paddles of a port are swapped (pong).
    pub swap_paddles: bool,
}

/// The state of a joystick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joystick {
    /// True if pushed up.
    pub up: bool,
    /// True if pushed down.
    pub down: bool,
    /// True if pushed left.
    pub left: bool,
    /// True if pushed right.
    pub right: bool,
    /// Button pressed.
    pub fire: bool,
}

/// The state of a paddle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paddle {
    /// Resistance in ohms; turning right lowers it.
    pub resistance: i32,
    /// Button pressed.
    pub fire: bool,
}

/// The state of the console's switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switches {
    /// True if game reset is held.
    pub reset: bool,
    /// True if game select is held.
    pub select: bool,
    /// True if the left difficulty switch is at A.
    pub left_difficulty_a: bool,
    /// True if the right difficulty switch is at A.
    pub right_difficulty_a: bool,
}

/// The state of all controllers, by player (A to D), and of the console's switches.
///
/// A serialised state leaves out the paddles of the right port: they are at their defaults until the inputs are set
/// again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inputs {
    /// The joysticks of the first two players.
    pub joysticks: [Joystick; 2],
    /// The players' paddles, two for each port.
    #[serde(with = "left_paddles")]
    pub paddles: [Paddle; 4],
    /// The console's switches.
    pub switches: Switches,
}

/// Serialises the paddles of the left port, to which states were limited before games with four players.
mod left_paddles {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Paddle;

    pub(super) fn serialize<S: Serializer>(
        [first, second, ..]: &[Paddle; 4],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        [first, second].serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[Paddle; 4], D::Error> {
        let [first, second] = Deserialize::deserialize(deserializer)?;
        Ok([first, second, Paddle::default(), Paddle::default()])
    }
}

/// The analogue side of a pin of a controller port (INPT0 to INPT3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnaloguePin {
    /// Not connected; never charges.
    Open,
    /// A paddle with this resistance in ohms.
    Paddle(i32),
}

/// The inputs of the RIOT's ports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    /// SWCHA: the joysticks' directions and the paddles' buttons.
    pub(crate) a: u8,
    /// SWCHB: the console switches.
    pub(crate) b: u8,
}

impl Wiring {
    pub(crate) fn ports(self, inputs: &Inputs) -> Ports {
        Ports { a: self.port_a(inputs), b: port_b(inputs.switches) }
    }

    /// Returns SWCHA: bits 7 to 4 are the left port (right, left, down, up), bits 3 to 0 the right port; 0 means
    /// pressed.
    fn port_a(self, inputs: &Inputs) -> u8 {
        !(self.pressed(0, inputs) << 4 | self.pressed(1, inputs))
    }

    /// Returns the pressed directions or paddle buttons of a port: a nibble in the order of SWCHA, in which 1 means
    /// pressed.
    fn pressed(self, port: usize, inputs: &Inputs) -> u8 {
        if self.port(port) == Controller::Paddles {
            let [first, second] = self.paddles(port, inputs);
            bits([first.fire, second.fire, false, false])
        } else {
            let stick = self.joystick(port, inputs);
            bits([stick.right, stick.left, stick.down, stick.up])
        }
    }

    /// Returns true if the button on INPT4 (`port` 0) or INPT5 (`port` 1) is pressed.
    pub(crate) fn fire(self, port: usize, inputs: &Inputs) -> bool {
        self.port(port) != Controller::Paddles && self.joystick(port, inputs).fire
    }

    /// Returns the pin read by INPT0 to INPT3.
    pub(crate) fn analogue(self, pin: usize, inputs: &Inputs) -> AnaloguePin {
        let port = pin / 2;
        match self.port(port) {
            Controller::Paddles => AnaloguePin::Paddle(self.paddles(port, inputs)[pin % 2].resistance),
            Controller::Joystick | Controller::None => AnaloguePin::Open,
        }
    }

    fn port(self, port: usize) -> Controller {
        [self.left, self.right][port]
    }

    fn joystick(self, port: usize, inputs: &Inputs) -> Joystick {
        inputs.joysticks[if self.swap_ports { 1 - port } else { port }]
    }

    /// Returns the paddles of a port in pin order.
    fn paddles(self, port: usize, inputs: &Inputs) -> [Paddle; 2] {
        let [first, second] = [inputs.paddles[2 * port], inputs.paddles[2 * port + 1]];
        if self.swap_paddles { [second, first] } else { [first, second] }
    }
}

/// Returns SWCHB: reset and select (0 means pressed), colour (always on) and the difficulty switches.
fn port_b(switches: Switches) -> u8 {
    0x3C | u8::from(!switches.reset)
        | u8::from(!switches.select) << 1
        | u8::from(switches.left_difficulty_a) << 6
        | u8::from(switches.right_difficulty_a) << 7
}

/// Packs four switches into a nibble, the first in bit 3.
fn bits(switches: [bool; 4]) -> u8 {
    switches.into_iter().fold(0, |nibble, on| nibble << 1 | u8::from(on))
}
