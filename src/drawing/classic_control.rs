//! Classic control, to scale.

use anyhow::Result;
use plotters::style::RGBColor;

use super::canvas::{Canvas, Point, SIZE};
use super::elements;

const GROUND: RGBColor = RGBColor(87, 96, 106);
const BODY: RGBColor = RGBColor(31, 35, 40);
const LIMB: RGBColor = RGBColor(191, 135, 0);
const JOINT: RGBColor = RGBColor(9, 105, 218);
const GOAL: RGBColor = RGBColor(26, 127, 55);
const HILL: RGBColor = RGBColor(208, 215, 222);

const WIDTH: f64 = SIZE.0 as f64;
const HEIGHT: f64 = SIZE.1 as f64;

/// Draws position and angle of a pole on a cart. The track ends where an episode does, at 2.4 on either side.
pub(super) fn cart_pole(canvas: &Canvas<'_>, observation: &[f32]) -> Result<()> {
    const SCALE: f64 = WIDTH / 4.8;
    const TRACK: f64 = 230.0;
    let [position, _, angle, _] = elements(observation)?;
    let x = WIDTH / 2.0 + position * SCALE;
    canvas.line(&[[0.0, TRACK], [WIDTH, TRACK]], 2.0, GROUND)?;
    canvas.rectangle([[x - 28.0, TRACK - 17.0], [x + 28.0, TRACK + 17.0]], BODY)?;
    let joint = [x, TRACK - 12.0];
    // The pole is twice as long as it is to its centre of mass, at 0.5.
    canvas.line(&[joint, from(joint, angle, SCALE)], 9.0, LIMB)?;
    canvas.disc(joint, 4.0, JOINT)
}

pub(super) fn mountain_car(canvas: &Canvas<'_>, observation: &[f32]) -> Result<()> {
    valley(canvas, observation, 0.5)
}

pub(super) fn mountain_car_continuous(canvas: &Canvas<'_>, observation: &[f32]) -> Result<()> {
    valley(canvas, observation, 0.45)
}

/// Draws the position of a car in a valley, whose height is the sine of three times the position.
fn valley(canvas: &Canvas<'_>, observation: &[f32], goal: f64) -> Result<()> {
    const LEFT: f64 = -1.2;
    const SCALE: f64 = WIDTH / 1.8;
    let place = |position: f64| -> Point {
        let height = 0.45 * (3.0 * position).sin() + 0.55;
        [(position - LEFT) * SCALE, HEIGHT - 20.0 - height * SCALE]
    };
    let [position, _] = elements(observation)?;
    let mut hill: Vec<Point> = (0..=90).map(|index| place(LEFT + f64::from(index) * 0.02)).collect();
    hill.extend([[WIDTH, HEIGHT], [0.0, HEIGHT]]);
    canvas.polygon(&hill, HILL)?;
    canvas.line(&hill[..91], 2.0, GROUND)?;
    let foot = place(goal);
    let top = [foot[0], foot[1] - 42.0];
    canvas.line(&[foot, top], 2.0, GROUND)?;
    canvas.polygon(&[top, [top[0] + 20.0, top[1] + 7.0], [top[0], top[1] + 14.0]], GOAL)?;
    // The slope of the valley, and the directions along and away from it.
    let slope = (0.45 * 3.0 * (3.0 * position).cos()).atan();
    let (along, away) = ([slope.cos(), -slope.sin()], [-slope.sin(), -slope.cos()]);
    let ground = place(position);
    let at =
        |x: f64, y: f64| [ground[0] + x * along[0] + y * away[0], ground[1] + x * along[1] + y * away[1]];
    canvas.polygon(
        &[at(-20.0, 8.0), at(20.0, 8.0), at(20.0, 16.0), at(9.0, 24.0), at(-12.0, 24.0), at(-20.0, 16.0)],
        BODY,
    )?;
    [-12.0, 12.0].into_iter().try_for_each(|x| canvas.disc(at(x, 6.0), 6.0, LIMB))
}

/// Draws both links, and the height that the tip must reach.
pub(super) fn acrobot(canvas: &Canvas<'_>, observation: &[f32]) -> Result<()> {
    const SCALE: f64 = 62.0;
    let [cos_1, sin_1, cos_2, sin_2] = elements(observation)?;
    // The first angle is 0 if the link hangs down; the second one is relative to the first link.
    let (first, second) = (f64::atan2(sin_1, cos_1), f64::atan2(sin_2, cos_2));
    let joint = [WIDTH / 2.0, HEIGHT / 2.0];
    let elbow = from(joint, std::f64::consts::PI - first, SCALE);
    let tip = from(elbow, std::f64::consts::PI - first - second, SCALE);
    let height = joint[1] - SCALE;
    canvas.line(&[[40.0, height], [WIDTH - 40.0, height]], 2.0, GOAL)?;
    canvas.line(&[joint, elbow], 10.0, LIMB)?;
    canvas.line(&[elbow, tip], 10.0, LIMB)?;
    [joint, elbow].into_iter().try_for_each(|point| canvas.disc(point, 6.0, JOINT))?;
    canvas.disc(tip, 4.0, BODY)
}

pub(super) fn pendulum(canvas: &Canvas<'_>, observation: &[f32]) -> Result<()> {
    // The angle is 0 if the pendulum stands, and grows to the left.
    let [cos, sin] = elements(observation)?;
    let joint = [WIDTH / 2.0, HEIGHT / 2.0];
    canvas.line(&[joint, from(joint, -f64::atan2(sin, cos), 115.0)], 20.0, LIMB)?;
    canvas.disc(joint, 5.0, JOINT)
}

/// Returns the point at a distance, in a direction that is 0 upwards and grows to the right.
fn from([x, y]: Point, angle: f64, distance: f64) -> Point {
    [x + distance * angle.sin(), y - distance * angle.cos()]
}
