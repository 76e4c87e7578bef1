//! Declared settings know their defaults, limits and documentation.

use std::collections::BTreeMap;

use serde::Serialize;
use settings::{Kind, Limits, Settings, above, at_least, between, choices, paragraph, settings};

choices! {
    /// A color.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
    pub enum Color {
        /// Like blood.
        #[default]
        Red = "red" | true,
        /// Like grass.
        Green = "green",
    }
}

settings! {
    /// A wheel.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct Wheel {
        /// The number of spokes.
        pub spokes: u32 = 32 => at_least(3.0); fixed "the rim has holes for them",
    }
}

settings! {
    /// A bicycle
    /// with wheels.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct Bicycle {
        /// The weight
        /// in kilograms.
        pub weight: f32 = 12.5 => above(0.0),
        /// The share of steel.
        #[serde(rename = "steel")]
        pub steel: Option<f64> = None => between(0.0, 1.0),
        /// The slope that it stands on.
        pub slope: f32 = 0.0,
        /// The color.
        pub color: Color = Color::Green,
        /// The wheels by their names.
        pub wheels: BTreeMap<String, Wheel> = BTreeMap::new(),
    }
}

fn message(change: impl FnOnce(&mut Bicycle)) -> String {
    let mut bicycle = Bicycle::default();
    change(&mut bicycle);
    bicycle.check().expect_err("a value outside its limits").to_string()
}

#[test]
fn fields_have_names_types_and_documentation() {
    let names: Vec<&str> = Bicycle::FIELDS.iter().map(|field| field.name).collect();
    assert_eq!(names, ["weight", "steel", "slope", "color", "wheels"]);
    assert_eq!(Bicycle::FIELDS[0].about(), "The weight in kilograms.");
    assert_eq!(Bicycle::FIELDS[1].about(), "The share of steel.");
    assert!(Bicycle::FIELDS[1].is_optional && !Bicycle::FIELDS[0].is_optional);
    assert_eq!(paragraph(Bicycle::ABOUT), "A bicycle with wheels.");
    let Kind::Choice([red, _]) = Bicycle::FIELDS[3].kind else { unreachable!("a choice of two") };
    assert_eq!((red.name, paragraph(red.lines)), ("red", "Like blood.".to_owned()));
    let Kind::Tables { fields, .. } = Bicycle::FIELDS[4].kind else { unreachable!("tables") };
    assert_eq!(fields[0].about(), "The number of spokes.");
}

#[test]
fn defaults_are_the_declared_ones() {
    let bicycle = Bicycle::default();
    assert_eq!((bicycle.weight, bicycle.steel, bicycle.color), (12.5, None, Color::Green));
    assert_eq!((Color::default().name(), Color::ALL.len()), ("red", 2));
}

#[test]
fn values_outside_their_limits_are_named() {
    assert_eq!(message(|bicycle| bicycle.weight = 0.0), "weight = 0 is invalid: it must be above 0");
    assert_eq!(
        message(|bicycle| bicycle.steel = Some(1.1)),
        "steel = 1.1 is invalid: it must be in 0..=1, or absent"
    );
    let wheel = |spokes| BTreeMap::from([("front".to_owned(), Wheel { spokes })]);
    assert_eq!(
        message(|bicycle| bicycle.wheels = wheel(2)),
        "wheels.front.spokes = 2 is invalid: it must be 3 or more"
    );
    assert_eq!(Bicycle { wheels: wheel(3), ..Bicycle::default() }.check(), Ok(()));
}

#[test]
fn fixed_settings_do_not_change() {
    let wheel = Wheel { spokes: 36 };
    assert_eq!(wheel.check_change(&wheel.clone()), Ok(()));
    let error = wheel.check_change(&Wheel::default()).unwrap_err();
    assert_eq!(error.to_string(), "spokes cannot change during training: the rim has holes for them");
    let (bicycle, heavy) = (Bicycle::default(), Bicycle { weight: 20.0, slope: 1.0, ..Bicycle::default() });
    let changed: Vec<&str> = heavy.changed(&bicycle).iter().map(|field| field.name).collect();
    assert_eq!(changed, ["weight", "slope"]);
    assert_eq!(heavy.check_change(&bicycle), Ok(()));
}

#[test]
fn numbers_that_are_not_finite_are_always_outside() {
    assert_eq!(message(|bicycle| bicycle.slope = f32::NAN), "slope = NaN is invalid: it must be finite");
    assert!(message(|bicycle| bicycle.weight = f32::INFINITY).contains("above 0"));
    assert!(message(|bicycle| bicycle.steel = Some(f64::NAN)).contains("in 0..=1"));
}

#[test]
fn limits_read_as_the_end_of_a_sentence() {
    let texts = [at_least(2.0), above(0.0), between(0.0, 1.0), above(0.0).up_to(1.0), Limits::NONE];
    assert_eq!(
        texts.map(|limits| limits.to_string()),
        ["2 or more", "above 0", "in 0..=1", "above 0 and at most 1", "finite"]
    );
    assert!(!above(0.0).up_to(1.0).contains(0.0) && above(0.0).up_to(1.0).contains(1.0));
}

#[test]
fn allowed_values_follow_from_the_declaration() {
    let allowed: Vec<String> = Bicycle::FIELDS.iter().map(settings::Field::allowed).collect();
    assert_eq!(
        allowed,
        [
            "a number above 0",
            "a number in 0..=1, or absent",
            "a finite number",
            "red, green, true or false",
            "a section with keys"
        ]
    );
    assert_eq!(Wheel::FIELDS[0].allowed(), "a whole number, 3 or more");
    assert_eq!(Wheel::FIELDS[0].whole_numbers(), Some(3..=4_294_967_295));
    let Kind::Choice([red, green]) = Bicycle::FIELDS[3].kind else { unreachable!("a choice of two") };
    assert_eq!((red.switch, green.switch), (Some(true), None));
}
