use rl_env::{Action, Env, EnvError, Space, Step, snapshot};

use crate::{Outcome, Tabular};

/// The map of [`Taxi`]. Every second character is a cell; `:` between cells is open and `|` is a wall.
pub const TAXI_MAP: [&[u8; 11]; 5] =
    [b"|R: | : :G|", b"| : | : : |", b"| : : : : |", b"| | : | : |", b"|Y| : |B: |"];
const SIZE: usize = 5;
/// Row and column of the four stops of [`Taxi`].
pub const TAXI_STANDS: [(usize, usize); 4] = [(0, 0), (0, 4), (4, 0), (4, 3)];
/// The location of a passenger in the taxi.
const IN_TAXI: usize = 4;
const NUM_STATES: usize = SIZE * SIZE * (TAXI_STANDS.len() + 1) * TAXI_STANDS.len();
const NUM_ACTIONS: usize = 6;
const SOUTH: usize = 0;
const NORTH: usize = 1;
const EAST: usize = 2;
const WEST: usize = 3;
const PICK_UP: usize = 4;

/// The arguments of Gymnasium's `Taxi-v4`, with its defaults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TaxiOptions {
    /// True if rain may drive the taxi sideways.
    pub is_rainy: bool,
    /// The probability of moving in the chosen direction in the rain.
    pub rainy_probability: f64,
    /// True if the passenger may change the destination after the first move.
    pub fickle_passenger: bool,
    /// The probability that the passenger of an episode does so.
    pub fickle_probability: f64,
}

impl Default for TaxiOptions {
    fn default() -> Self {
        Self { is_rainy: false, rainy_probability: 0.8, fickle_passenger: false, fickle_probability: 0.3 }
    }
}

/// Additional data about a state of a [`Taxi`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TaxiInfo {
    /// The probability of the last outcome; 1 after a reset.
    pub probability: f64,
    /// True for each action that changes the state.
    pub action_mask: [bool; NUM_ACTIONS],
}

/// A taxi that picks up a passenger and drives to the destination: Gymnasium's `Taxi-v4`.
///
/// Observation: `((row * 5 + column) * 5 + passenger) * 4 + destination`, where the passenger is at one of the four
/// stops or (4) in the taxi. Actions: south, north, east, west, pick up, drop off. A step costs 1, an illegal
/// pick-up or drop-off 10; delivery earns 20 and terminates the episode. Dietterich (2000), "Hierarchical
/// reinforcement learning with the MAXQ value function decomposition".
#[derive(Clone, Debug)]
pub struct Taxi {
    pub(crate) table: Tabular,
    pub(crate) options: TaxiOptions,
    /// True if the passenger will still change the destination in this episode.
    is_fickle: bool,
}

/// A decoded state of [`Taxi`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaxiRide {
    /// The row of the taxi.
    pub row: usize,
    /// The column of the taxi.
    pub column: usize,
    /// The stop of the passenger, or 4 in the taxi.
    pub passenger: usize,
    /// The stop to which the passenger wants to go.
    pub destination: usize,
}

impl TaxiRide {
    /// Decodes an observation.
    pub fn from_state(state: usize) -> Self {
        let (state, destination) = (state / 4, state % 4);
        let (state, passenger) = (state / 5, state % 5);
        Self { row: state / SIZE, column: state % SIZE, passenger, destination }
    }

    fn state(self) -> usize {
        ((self.row * SIZE + self.column) * 5 + self.passenger) * 4 + self.destination
    }

    fn cell(self) -> (usize, usize) {
        (self.row, self.column)
    }

    /// Returns true if the taxi can move in a direction.
    fn can_go(self, direction: usize) -> bool {
        match direction {
            SOUTH => self.row + 1 < SIZE,
            NORTH => self.row > 0,
            EAST => TAXI_MAP[self.row][2 * self.column + 2] == b':',
            _ => TAXI_MAP[self.row][2 * self.column] == b':',
        }
    }

    fn go(self, direction: usize) -> Self {
        let Self { row, column, .. } = self;
        match direction {
            SOUTH => Self { row: row + 1, ..self },
            NORTH => Self { row: row - 1, ..self },
            EAST => Self { column: column + 1, ..self },
            _ => Self { column: column - 1, ..self },
        }
    }

    /// Moves in a direction, unless the way is blocked.
    fn drift(self, direction: usize) -> Self {
        if self.can_go(direction) { self.go(direction) } else { self }
    }

    /// Picks up (4) or drops off (5) the passenger. Returns the next state, the reward and true on arrival.
    fn serve(self, action: usize) -> (Self, f64, bool) {
        let stand = TAXI_STANDS.iter().position(|&stand| stand == self.cell());
        match (stand, action == PICK_UP) {
            (Some(stand), true) if stand == self.passenger => {
                (Self { passenger: IN_TAXI, ..self }, -1.0, false)
            }
            (Some(stand), false) if self.passenger == IN_TAXI => {
                let arrived = stand == self.destination;
                (Self { passenger: stand, ..self }, if arrived { 20.0 } else { -1.0 }, arrived)
            }
            _ => (self, -10.0, false),
        }
    }
}

/// Returns the outcome of a move.
fn move_to(probability: f64, next: TaxiRide) -> Outcome {
    Outcome { probability, next: next.state(), reward: -1.0, terminated: false }
}

fn outcomes(options: &TaxiOptions, ride: TaxiRide, action: usize) -> Vec<Outcome> {
    if action >= PICK_UP {
        let (next, reward, terminated) = ride.serve(action);
        return vec![Outcome { probability: 1.0, next: next.state(), reward, terminated }];
    }
    if !options.is_rainy {
        return vec![move_to(1.0, ride.drift(action))];
    }
    // Left and right as seen by the driver. A taxi that cannot move ahead does not drift either.
    let [left, right] = [[EAST, WEST], [WEST, EAST], [NORTH, SOUTH], [SOUTH, NORTH]][action];
    let aside = |direction| if ride.can_go(action) { ride.drift(direction) } else { ride };
    let lateral = (1.0 - options.rainy_probability) / 2.0;
    vec![
        move_to(options.rainy_probability, ride.drift(action)),
        move_to(lateral, aside(left)),
        move_to(lateral, aside(right)),
    ]
}

impl Taxi {
    /// Creates a taxi with seed 0.
    pub fn new(options: TaxiOptions) -> Self {
        let is_start = |ride: TaxiRide| ride.passenger != IN_TAXI && ride.passenger != ride.destination;
        let starts = (0..NUM_STATES).filter(|&state| is_start(TaxiRide::from_state(state))).count();
        let start: Vec<f64> = (0..NUM_STATES)
            .map(|state| f64::from(is_start(TaxiRide::from_state(state))) / starts as f64)
            .collect();
        let table = Tabular::new(&start, NUM_ACTIONS, |state, action| {
            outcomes(&options, TaxiRide::from_state(state), action)
        });
        Self { table, options, is_fickle: false }
    }

    /// Changes the destination of a fickle passenger after the first move.
    fn change_destination(&mut self, before: TaxiRide) {
        let after = TaxiRide::from_state(self.table.state.index);
        if self.is_fickle && before.passenger == IN_TAXI && after.cell() != before.cell() {
            self.is_fickle = false;
            let draw = self.table.state.generator.below(TAXI_STANDS.len() as u32 - 1) as usize;
            let destination = draw + usize::from(draw >= before.destination);
            self.table.state.index = TaxiRide { destination, ..after }.state();
        }
    }
}

impl Env for Taxi {
    type Info = TaxiInfo;

    fn observation_space(&self) -> &Space {
        self.table.observation_space()
    }

    fn action_space(&self) -> &Space {
        self.table.action_space()
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]) {
        self.table.reset(seed, observation);
        self.is_fickle = self.options.fickle_passenger
            && self.table.state.generator.random() < self.options.fickle_probability;
    }

    fn step(&mut self, action: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError> {
        let before = TaxiRide::from_state(self.table.state());
        let step = self.table.step(action, observation)?;
        self.change_destination(before);
        self.observe(observation);
        Ok(step)
    }

    fn info(&self) -> TaxiInfo {
        let ride = TaxiRide::from_state(self.table.state());
        let action_mask = std::array::from_fn(|action| match action {
            SOUTH..=WEST => ride.can_go(action),
            _ => ride.serve(action).0 != ride,
        });
        TaxiInfo { probability: self.table.info().probability, action_mask }
    }

    fn observe(&self, observation: &mut [u8]) {
        self.table.observe(observation);
    }

    fn snapshot(&self) -> Vec<u8> {
        snapshot::encode(&(self.is_fickle, self.table.snapshot()))
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        let (is_fickle, table): (bool, Vec<u8>) = snapshot::decode(snapshot)?;
        self.table.restore(&table)?;
        self.is_fickle = is_fickle;
        Ok(())
    }
}
