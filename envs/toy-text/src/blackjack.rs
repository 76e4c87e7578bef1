use rl_env::{Action, Env, EnvError, Pcg64, Space, Step, snapshot};
use serde::{Deserialize, Serialize};

/// Ace, 2 to 10, and three face cards with the value 10, drawn from an infinite deck.
const NUM_RANKS: u32 = 13;
/// The sum at which the dealer stops drawing.
pub(crate) const DEALER_STANDS: u32 = 17;
pub(crate) const BEST: u32 = 21;

/// The value of a natural (an ace and a ten as the first two cards).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlackjackRules {
    /// It beats every hand except another natural, as in Sutton and Barto's book (Gymnasium's `sab=True`, the default).
    #[default]
    SuttonBarto,
    /// It is an ordinary hand (`sab=False, natural=False`).
    Plain,
    /// It is an ordinary hand that earns 1.5 if it wins (`sab=False, natural=True`).
    Natural,
}

/// One hand of Blackjack against a dealer: Gymnasium's `Blackjack-v1`.
///
/// Observation: a tuple of the player's sum, the dealer's face-up card (1 is an ace) and 1 if the player has a usable
/// ace, one with the value 11. Actions: stick (0), hit (1). The episode terminates when the player sticks or exceeds
/// 21; winning earns 1, losing costs 1. Example 5.1 of Sutton and Barto's book.
#[derive(Clone, Debug)]
pub struct Blackjack {
    observation_space: Space,
    action_space: Space,
    pub(crate) rules: BlackjackRules,
    state: State,
}

/// The mutable state.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct State {
    generator: Pcg64,
    player: Hand,
    dealer: Hand,
    /// The dealer's face-up card.
    open: u32,
}

/// A summary of the cards in a hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Hand {
    /// The sum of the cards, with aces as 1.
    hard_sum: u32,
    has_ace: bool,
    pub(crate) num_cards: u32,
}

impl Hand {
    pub(crate) fn with(self, card: u32) -> Self {
        Self {
            hard_sum: self.hard_sum.saturating_add(card),
            has_ace: self.has_ace || card == 1,
            num_cards: self.num_cards.saturating_add(1),
        }
    }

    /// Returns true if an ace has the value 11.
    fn has_usable_ace(self) -> bool {
        self.has_ace && self.hard_sum <= BEST - 10
    }

    pub(crate) fn sum(self) -> u32 {
        self.hard_sum + if self.has_usable_ace() { 10 } else { 0 }
    }

    /// Returns the sum, or 0 if it exceeds 21.
    pub(crate) fn score(self) -> u32 {
        if self.sum() > BEST { 0 } else { self.sum() }
    }

    pub(crate) fn is_natural(self) -> bool {
        self.num_cards == 2 && self.sum() == BEST
    }
}

impl State {
    fn draw(&mut self) -> u32 {
        (self.generator.below(NUM_RANKS) + 1).min(10)
    }

    fn deal(&mut self) {
        let cards: [u32; 4] = std::array::from_fn(|_| self.draw());
        self.open = cards[0];
        self.dealer = Hand::default().with(cards[0]).with(cards[1]);
        self.player = Hand::default().with(cards[2]).with(cards[3]);
        // Gymnasium draws the suit and the face of the open card for rendering; the generator has to advance equally.
        self.generator.below(4);
        if self.open == 10 {
            self.generator.below(3);
        }
    }

    fn hit(&mut self) -> Step {
        self.player = self.player.with(self.draw());
        let is_bust = self.player.sum() > BEST;
        Step { terminated: is_bust, ..Step::reward(if is_bust { -1.0 } else { 0.0 }) }
    }

    fn stick(&mut self, rules: BlackjackRules) -> Step {
        while self.dealer.sum() < DEALER_STANDS {
            self.dealer = self.dealer.with(self.draw());
        }
        Step { terminated: true, ..Step::reward(reward(rules, self.player, self.dealer)) }
    }
}

/// Returns the reward of a player against the final hand of the dealer.
pub(crate) fn reward(rules: BlackjackRules, player: Hand, dealer: Hand) -> f32 {
    let wins = player.score().cmp(&dealer.score());
    match rules {
        BlackjackRules::SuttonBarto if player.is_natural() && !dealer.is_natural() => 1.0,
        BlackjackRules::Natural if player.is_natural() && wins.is_gt() => 1.5,
        _ => f32::from(wins as i8),
    }
}

impl Blackjack {
    /// Creates a table with these rules and seed 0.
    pub fn new(rules: BlackjackRules) -> Self {
        let hand = Hand::default();
        Self {
            observation_space: Space::tuple([Space::discrete(32), Space::discrete(11), Space::discrete(2)]),
            action_space: Space::discrete(2),
            rules,
            state: State { generator: Pcg64::new(0), player: hand, dealer: hand, open: 0 },
        }
    }
}

impl Env for Blackjack {
    type Info = ();

    fn observation_space(&self) -> &Space {
        &self.observation_space
    }

    fn action_space(&self) -> &Space {
        &self.action_space
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]) {
        if let Some(seed) = seed {
            self.state.generator = Pcg64::new(seed);
        }
        self.state.deal();
        self.observe(observation);
    }

    fn step(&mut self, action: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError> {
        let hits = action.to_index(&self.action_space)? == 1;
        let step = if hits { self.state.hit() } else { self.state.stick(self.rules) };
        self.observe(observation);
        Ok(step)
    }

    fn info(&self) {}

    fn observe(&self, observation: &mut [u8]) {
        let State { player, open, .. } = self.state;
        let values = [player.sum(), open, player.has_usable_ace().into()];
        for (bytes, value) in observation.as_chunks_mut().0.iter_mut().zip(values) {
            *bytes = i64::from(value).to_ne_bytes();
        }
    }

    fn snapshot(&self) -> Vec<u8> {
        snapshot::encode(&self.state)
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        self.state = snapshot::decode(snapshot)?;
        Ok(())
    }
}
