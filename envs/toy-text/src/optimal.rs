//! The largest expected returns, by dynamic programming.

use std::collections::{BTreeMap, HashMap};

use crate::blackjack::{BEST, DEALER_STANDS, Hand, reward};
use crate::{Blackjack, BlackjackRules, Outcome, Tabular, Taxi};

impl Tabular {
    /// Returns the largest expected sum of rewards within `max_steps` steps from a reset: value iteration, backwards
    /// from the last step.
    ///
    /// ```
    /// # use toy_text::cliff_walking;
    /// assert_eq!(cliff_walking(false).optimal_return(1000), -13.0);
    /// ```
    pub fn optimal_return(&self, max_steps: u32) -> f64 {
        let mut values = vec![0.0; self.num_states()];
        for _ in 0..max_steps {
            values = (0..values.len()).map(|state| self.state_value(state, &values)).collect();
        }
        self.start_probabilities().zip(&values).map(|(probability, value)| probability * value).sum()
    }

    /// Returns the value of a state with one step more than `values`: that of its best action.
    fn state_value(&self, state: usize, values: &[f64]) -> f64 {
        let action_values = self.outcomes_of(state).map(|outcomes| action_value(outcomes, values));
        action_values.fold(f64::NEG_INFINITY, f64::max)
    }
}

fn action_value(outcomes: &[Outcome], values: &[f64]) -> f64 {
    let terms = outcomes.iter().map(|outcome| {
        let next_value = if outcome.terminated { 0.0 } else { values[outcome.next] };
        outcome.probability * (outcome.reward + next_value)
    });
    terms.sum()
}

impl Taxi {
    /// Returns the largest expected sum of rewards within `max_steps` steps from a reset, or `None` if the passenger
    /// may change the destination, which the table of states does not represent.
    pub fn optimal_return(&self, max_steps: u32) -> Option<f64> {
        (!self.options.fickle_passenger).then(|| self.table.optimal_return(max_steps))
    }
}

/// The cards of the infinite deck with their probabilities: 10 stands for four ranks.
const CARDS: [(u32, f64); 10] = {
    let mut cards = [(0, 1.0 / 13.0); 10];
    let mut card = 1;
    while card <= 10 {
        cards[card - 1].0 = card as u32;
        card += 1;
    }
    cards[9].1 = 4.0 / 13.0;
    cards
};

impl Blackjack {
    /// Returns the largest expected reward of a hand.
    pub fn optimal_return(&self) -> f64 {
        let mut sum = 0.0;
        for (open, probability) in CARDS {
            let dealer = dealer_hands(Hand::default().with(open));
            let mut known = HashMap::new();
            for (first, of_first) in CARDS {
                for (second, of_second) in CARDS {
                    let hand = Hand::default().with(first).with(second);
                    sum += probability
                        * of_first
                        * of_second
                        * best_value(hand, &dealer, self.rules, &mut known);
                }
            }
        }
        sum
    }
}

/// Returns the final hands of a dealer with their probabilities.
fn dealer_hands(hand: Hand) -> Vec<(Hand, f64)> {
    // The dealer always draws a second card.
    if hand.num_cards >= 2 && hand.sum() >= DEALER_STANDS {
        return vec![(hand, 1.0)];
    }
    let drawn = CARDS.into_iter().flat_map(|(card, probability)| {
        let hands = dealer_hands(hand.with(card));
        hands.into_iter().map(move |(hand, of_hand)| (hand, probability * of_hand))
    });
    // Hands with the same payoff are merged, in an order that does not change the rounding of sums from run to run.
    let mut merged: BTreeMap<(u32, bool), (Hand, f64)> = BTreeMap::new();
    for (hand, probability) in drawn {
        merged.entry((hand.score(), hand.is_natural())).or_insert((hand, 0.0)).1 += probability;
    }
    merged.into_values().collect()
}

/// Returns the largest expected reward of a player's hand against these hands of the dealer. `known` caches the values.
fn best_value(
    hand: Hand,
    dealer: &[(Hand, f64)],
    rules: BlackjackRules,
    known: &mut HashMap<Hand, f64>,
) -> f64 {
    if hand.sum() > BEST {
        return -1.0;
    }
    if let Some(&value) = known.get(&hand) {
        return value;
    }
    let stick =
        dealer.iter().map(|&(dealer, probability)| probability * f64::from(reward(rules, hand, dealer)));
    let stick: f64 = stick.sum();
    let hit = CARDS
        .into_iter()
        .map(|(card, probability)| probability * best_value(hand.with(card), dealer, rules, known));
    let value = stick.max(hit.sum());
    known.insert(hand, value);
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FrozenLakeOptions, TaxiOptions, cliff_walking, frozen_lake};

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-6, "{value} {expected}");
    }

    #[test]
    fn optimal_returns_of_frozen_lakes() {
        let lake = frozen_lake(&FrozenLakeOptions::default()).unwrap();
        // Without a time limit the best policy falls into a hole in 3 of 17 episodes.
        close(lake.optimal_return(10_000), 14.0 / 17.0);
        // Six moves lead to the goal on ice that is not slippery.
        let firm = FrozenLakeOptions { is_slippery: false, ..FrozenLakeOptions::default() };
        let firm = frozen_lake(&firm).unwrap();
        close(firm.optimal_return(6), 1.0);
        close(firm.optimal_return(5), 0.0);
    }

    #[test]
    fn optimal_returns_of_walks_and_rides() {
        // Waiting costs less than walking if the goal is out of reach.
        close(cliff_walking(false).optimal_return(12), -12.0);
        close(cliff_walking(false).optimal_return(13), -13.0);
        let taxi = Taxi::new(TaxiOptions::default());
        // 20 for the arrival, and 1 for each step before.
        let value = taxi.optimal_return(200).unwrap();
        assert!((7.5..8.5).contains(&value), "{value}");
        let fickle = Taxi::new(TaxiOptions { fickle_passenger: true, ..TaxiOptions::default() });
        assert_eq!(fickle.optimal_return(200), None);
    }

    #[test]
    fn a_dealer_has_each_final_hand_with_its_probability() {
        let hands = dealer_hands(Hand::default().with(10));
        close(hands.iter().map(|(_, probability)| probability).sum(), 1.0);
        // A ten and an ace.
        let natural: f64 =
            hands.iter().filter(|(hand, _)| hand.is_natural()).map(|(_, probability)| probability).sum();
        close(natural, 1.0 / 13.0);
    }

    #[test]
    fn the_best_strategy_of_blackjack_loses_a_little() {
        // Sutton and Barto's rules have no doubling and splitting, but pay 1 for a natural.
        let values = [BlackjackRules::Plain, BlackjackRules::SuttonBarto, BlackjackRules::Natural]
            .map(|rules| Blackjack::new(rules).optimal_return());
        assert!((-0.06..-0.04).contains(&values[1]), "{values:?}");
        assert!(values[0] < values[1] && values[1] < values[2], "{values:?}");
    }
}
