//! Spaces and random values equal those of Gymnasium and NumPy, as recorded by `data/record_spaces.py`.

use rl_env::{Action, ActionKind, Bound, CannotBatch, Dtype, Pcg64, Space};
use serde_json::Value;

fn record() -> Value {
    serde_json::from_str(include_str!("../data/spaces.json")).unwrap()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn floats(value: &Value) -> Vec<f64> {
    list(value).iter().map(float).collect()
}

/// Reads a number, or the text that JSON has in place of an infinite one.
fn float(value: &Value) -> f64 {
    match value {
        Value::String(text) => text.parse().unwrap(),
        _ => value.as_f64().unwrap(),
    }
}

fn counts(value: &Value) -> Vec<usize> {
    list(value).iter().map(|value| value.as_u64().unwrap() as usize).collect()
}

fn integers(value: &Value) -> Vec<i64> {
    list(value).iter().map(|value| value.as_i64().unwrap()).collect()
}

/// Parses a recorded space.
fn space(value: &Value) -> Space {
    match value["kind"].as_str().unwrap() {
        "Box" => {
            let dtypes = [Dtype::U8, Dtype::I8, Dtype::I64, Dtype::F32, Dtype::F64];
            Space::Box {
                low: Bound::each(floats(&value["low"])),
                high: Bound::each(floats(&value["high"])),
                shape: counts(&value["shape"]),
                dtype: dtypes.into_iter().find(|dtype| value["dtype"] == dtype.name()).unwrap(),
            }
        }
        "Discrete" => Space::Discrete {
            n: value["n"].as_u64().unwrap() as usize,
            start: value["start"].as_i64().unwrap(),
        },
        "MultiDiscrete" => {
            Space::MultiDiscrete { nvec: counts(&value["nvec"]), start: integers(&value["start"]) }
        }
        "MultiBinary" => Space::MultiBinary { shape: counts(&value["shape"]) },
        "Dict" => {
            let parts = value["spaces"].as_object().unwrap().iter();
            Space::dict(parts.map(|(key, part)| (key.as_str(), space(part))))
        }
        _ => Space::Tuple(list(&value["spaces"]).iter().map(space).collect()),
    }
}

/// Returns the elements of a row, leaf by leaf.
fn elements(space: &Space, row: &[u8]) -> Vec<f64> {
    let leaves = space.leaves();
    let each =
        leaves.iter().flat_map(|leaf| (0..leaf.space.num_elements()).map(|index| leaf.element(row, index)));
    each.collect()
}

fn row_of(space: &Space, elements: &[f64]) -> Vec<u8> {
    let mut row = vec![0; space.byte_len()];
    let mut elements = elements.iter();
    for leaf in space.leaves() {
        for index in 0..leaf.space.num_elements() {
            leaf.set_element(&mut row, index, *elements.next().unwrap());
        }
    }
    row
}

fn draw_below(generator: &mut Pcg64, bound: u32, count: usize) -> Vec<i64> {
    (0..count).map(|_| generator.below(bound).into()).collect()
}

#[test]
fn random_numbers_equal_those_of_numpy() {
    for draws in list(&record()["draws"]) {
        let seed = draws["seed"].as_u64().unwrap();
        let mut generator = Pcg64::new(seed);
        let bits = |generator: &mut Pcg64| (generator.random() * (1_u64 << 53) as f64) as i64;
        assert_eq!(
            (0..4).map(|_| bits(&mut generator)).collect::<Vec<_>>(),
            integers(&draws["bits"]),
            "{seed}"
        );
        assert_eq!(draw_below(&mut generator, 13, 5), integers(&draws["below_13"]), "{seed}");
        assert_eq!(bits(&mut generator), draws["float"], "{seed}");
        let large = draw_below(&mut generator, 3_000_000_000, 8);
        assert_eq!(large, integers(&draws["below_3_000_000_000"]), "{seed}");
        let cards = draw_below(&mut generator, 13, 8);
        assert_eq!(cards.iter().map(|card| 10.min(card + 1)).collect::<Vec<_>>(), integers(&draws["choice"]));
        let tosses: Vec<i64> = generator.coin_tosses().take(11).map(i64::from).collect();
        assert_eq!(tosses, integers(&draws["tosses"]), "{seed}");
        for expected in floats(&draws["uniform"]) {
            assert_eq!(generator.uniform(-0.6, -0.4) as f32, expected as f32, "{seed}");
        }
        let normal = (0..50_000).fold(0_u64, |digest, _| {
            let bits = generator.standard_normal().to_bits();
            digest.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(bits)
        });
        assert_eq!(normal, draws["normal"], "{seed}");
    }
}

#[test]
fn spaces_sample_contain_and_flatten_as_in_gymnasium() {
    for case in list(&record()["spaces"]) {
        let space = space(&case["space"]);
        let mut generator = Pcg64::new(7);
        let mut row = vec![0; space.byte_len()];
        let mut flat = vec![9.0; space.flat_len()];
        assert_eq!(space.flat_len() as u64, case["flat_len"], "{space}");
        for (expected, flattened) in list(&case["samples"]).iter().zip(list(&case["flat"])) {
            let expected = floats(expected);
            if space.dtype().is_some() {
                space.sample(&mut generator, &mut row);
                let sampled: Vec<f32> = elements(&space, &row).iter().map(|&value| value as f32).collect();
                assert_eq!(
                    sampled,
                    expected.iter().map(|&value| value as f32).collect::<Vec<_>>(),
                    "{space}"
                );
            }
            let row = row_of(&space, &expected);
            assert!(space.contains(&row), "{space} contains {expected:?}");
            space.flatten(&row, &mut flat);
            assert_eq!(
                flat,
                floats(flattened).iter().map(|&value| value as f32).collect::<Vec<_>>(),
                "{space}"
            );
        }
    }
}

#[test]
fn spaces_are_batched_as_in_gymnasium() {
    let record = record();
    for case in list(&record["spaces"]) {
        assert_eq!(space(&case["space"]).batch(3), space(&case["batch"]), "{}", case["text"]);
    }
    for case in list(&record["differing"]) {
        let spaces: Vec<Space> = list(&case["spaces"]).iter().map(space).collect();
        let batch = Space::batch_differing(&spaces.iter().collect::<Vec<_>>());
        assert_eq!(batch, Ok(space(&case["batch"])), "{spaces:?}");
    }
}

#[test]
fn different_spaces_cannot_be_batched() {
    assert_eq!(Space::batch_differing(&[]), Err(CannotBatch::Empty));
    let unlike = [
        [Space::discrete(3), Space::multi_discrete([3])],
        [Space::bytes([3]), Space::bytes([4])],
        [Space::bytes([3]), Space::floats(3, 0.0, 255.0)],
        [Space::tuple([Space::discrete(2)]), Space::tuple([Space::discrete(2), Space::discrete(2)])],
        [Space::dict([("a", Space::discrete(2))]), Space::dict([("b", Space::discrete(2))])],
        [Space::tuple([Space::discrete(2)]), Space::tuple([Space::multi_binary(1)])],
    ];
    for [left, right] in unlike {
        let error = Space::batch_differing(&[&left, &right]).unwrap_err();
        assert!(error.to_string().contains("cannot be batched with"), "{error}");
    }
}

/// Samples of every kind of leaf are within bounds, including unbounded elements and nested spaces.
#[test]
fn samples_are_in_their_space() {
    let infinity = f32::INFINITY;
    let half_open =
        Space::float_ranges(&[(0.5, infinity), (-infinity, -2.0), (-infinity, infinity), (1.0, 1.0)]);
    let space = Space::dict([
        ("half", half_open.clone()),
        ("nested", Space::tuple([Space::bytes([3, 2]), Space::Discrete { n: 5, start: -9 }])),
        ("yes or no", Space::multi_binary(9)),
    ]);
    let mut generator = Pcg64::new(3);
    let mut row = vec![0; space.byte_len()];
    let mut normal = Vec::new();
    for _ in 0..2000 {
        space.sample(&mut generator, &mut row);
        assert!(space.contains(&row));
        normal.push(space.leaves()[0].element(&row, 2));
    }
    let mean = normal.iter().sum::<f64>() / 2000.0;
    let variance = normal.iter().map(|value| value * value).sum::<f64>() / 2000.0;
    // Four standard errors: 1 / sqrt(2000) and sqrt(2 / 2000).
    assert!(mean.abs() < 0.09 && (variance - 1.0).abs() < 0.13, "{mean} {variance}");
    for (index, outside) in [0.4, -1.9, f64::NAN, 1.1].into_iter().enumerate() {
        space.sample(&mut generator, &mut row);
        space.leaves()[0].set_element(&mut row, index, outside);
        assert!(!space.contains(&row), "{outside}");
    }
    assert!(!space.contains(&row[1..]), "the length of a row must match");
}

#[test]
fn leaves_are_aligned_and_in_the_order_of_names_and_positions() {
    let space = Space::tuple([
        Space::bytes([3]),
        Space::dict([("z", Space::discrete(2)), ("a", Space::floats(3, 0.0, 1.0))]),
        Space::multi_binary(2),
    ]);
    let leaves: Vec<_> = space
        .leaves()
        .into_iter()
        .map(|leaf| (leaf.path, leaf.offset, leaf.dtype.name(), leaf.shape))
        .collect();
    let expected = [
        ("0", 0, "uint8", vec![3]),
        ("1/a", 4, "float32", vec![3]),
        ("1/z", 16, "int64", vec![]),
        ("2", 24, "int8", vec![2]),
    ];
    assert_eq!(leaves, expected.map(|(path, offset, dtype, shape)| (path.to_owned(), offset, dtype, shape)));
    assert_eq!(space.byte_len(), 26);
    assert_eq!(Space::discrete(7).leaves()[0].path, "");
}

#[test]
fn actions_are_checked_against_their_space() {
    let stick = Space::float_ranges(&[(0.0, 1.0), (-3.0, 3.0)]);
    let pair = Space::tuple([Space::Discrete { n: 3, start: 1 }, Space::multi_binary(2)]);
    let mixed = Space::tuple([Space::discrete(2), stick.clone()]);
    let accepted = [(&stick, Action::Continuous(&[1.0, -3.0])), (&pair, Action::Discrete(&[3, 0, 1]))];
    for (space, action) in accepted {
        assert!(action.is_in(space), "{action} {space}");
    }
    let refused = [
        (&stick, Action::Continuous(&[1.1, 0.0])),
        (&stick, Action::Continuous(&[1.0, f32::NAN])),
        (&stick, Action::Continuous(&[1.0])),
        (&stick, Action::Discrete(&[1, 0])),
        (&pair, Action::Discrete(&[0, 0, 1])),
        (&pair, Action::Discrete(&[1, 0, 2])),
        (&pair, Action::Discrete(&[1, 0, 1, 0])),
        (&mixed, Action::Discrete(&[1, 0, 0])),
        (&mixed, Action::Continuous(&[1.0, 0.0, 0.0])),
    ];
    for (space, action) in refused {
        assert!(!action.is_in(space), "{action} {space}");
    }
    assert!(Action::Continuous(&[9.0, -9.0]).fits(&stick), "floats may exceed their bounds");
    assert!(!Action::Continuous(&[9.0, f32::INFINITY]).fits(&stick));
    assert!(!Action::Continuous(&[9.0]).fits(&stick));
    assert!(!Action::Discrete(&[0, 0, 1]).fits(&pair));
    let kinds = [&stick, &pair, &mixed].map(ActionKind::of);
    assert_eq!(kinds, [Some(ActionKind::Continuous), Some(ActionKind::Discrete), None]);
}

#[test]
fn spaces_are_formatted_in_the_manner_of_gymnasium() {
    let told = [
        (Space::floats(3, -1.0, 1.0), "Box(-1, 1, [3], float32)"),
        (Space::float_ranges(&[(-1.2, 0.6), (-0.07, 0.07)]), "Box([-1.2, -0.07], [0.6, 0.07], [2], float32)"),
        (Space::Discrete { n: 3, start: -1 }, "Discrete(3, start=-1)"),
        (Space::multi_discrete([2, 3]), "MultiDiscrete([2, 3])"),
        (Space::multi_binary(4), "MultiBinary(4)"),
        (Space::tuple([Space::discrete(2), Space::discrete(3)]), "Tuple(Discrete(2), Discrete(3))"),
        (
            Space::dict([("b", Space::discrete(2)), ("a", Space::bytes([1]))]),
            "Dict(\"a\": Box(0, 255, [1], uint8), \"b\": Discrete(2))",
        ),
    ];
    for (space, words) in told {
        assert_eq!(space.to_string(), words);
    }
}
