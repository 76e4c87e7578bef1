//! Writing the TIA's registers.

use super::collision::Object;
use super::motion::{self, CosmicArk};
use super::objects::{COPIES, MissileShape, PLAYER_WIDTH, distance, moved};
use super::registers::{
    COLUBK, COLUP0, CTRLPF, CXCLR, ENABL, ENAM0, ENAM1, GRP0, GRP1, HMBL, HMCLR, HMM0, HMM1, HMOVE, HMP0,
    HMP1, NUSIZ0, NUSIZ1, PF0, PF1, PF2, REFP0, REFP1, RESBL, RESM0, RESM1, RESMP0, RESMP1, RESP0, RESP1,
    VBLANK, VDELBL, VDELP0, VDELP1, VSYNC,
};
use super::{HBLANK, NEVER, Tia, WIDTH};

/// Colour clocks that pass until a write shows in the picture. The playfield's depend on the cycle.
const DELAYS: [u8; 64] = {
    let mut delays = [0; 64];
    delays[VBLANK as usize] = 1;
    delays[NUSIZ0 as usize] = 8;
    delays[NUSIZ1 as usize] = 8;
    delays[REFP0 as usize] = 1;
    delays[REFP1 as usize] = 1;
    delays[RESM0 as usize] = 8;
    delays[RESM1 as usize] = 8;
    delays[GRP0 as usize] = 1;
    delays[GRP1 as usize] = 1;
    delays
};

/// The playfield's delays by the CPU cycle of the line modulo 4.
const PLAYFIELD_DELAYS: [i32; 4] = [4, 5, 2, 3];

/// CTRLPF's reflection bit takes effect at once only before this colour clock of a line.
const LAST_REFLECTION: i32 = 147;

impl Tia {
    /// Writes register `address & 0x3F` at CPU cycle `now`.
    pub(crate) fn write(&mut self, address: u16, value: u8, now: u32) {
        let register = address & 0x3F;
        let clock = (now as i32).wrapping_mul(3);
        let delay = match register {
            PF0..=PF2 => PLAYFIELD_DELAYS[(self.horizontal(clock) / 3 % 4) as usize],
            _ => DELAYS[usize::from(register)].into(),
        };
        self.draw_to(clock + delay);
        if self.line(clock) > self.geometry.last_line {
            self.finish_frame();
        }
        match register {
            VSYNC => self.write_vsync(value, clock),
            VBLANK => self.write_vblank(value, now),
            NUSIZ0 | NUSIZ1 => self.write_nusiz(register - NUSIZ0, value),
            COLUP0..=COLUBK => {
                let colour = &mut self.colours[usize::from(register - COLUP0)];
                // Bit 0 shows whether the last frame had an odd number of lines (PAL).
                *colour = value & 0xFE | *colour & 1;
            }
            CTRLPF => self.write_ctrlpf(value, clock),
            REFP0 | REFP1 => {
                self.players[usize::from(register - REFP0)].reflected = value & 0x08 != 0;
                self.touch_player(register - REFP0);
            }
            PF0 | PF1 | PF2 => {
                match register {
                    PF0 => self.playfield.write_pf0(value),
                    PF1 => self.playfield.write_pf1(value),
                    _ => self.playfield.write_pf2(value),
                }
                self.touch(Object::Pf);
            }
            RESP0 | RESP1 => self.reset_player(register - RESP0, clock),
            RESM0 | RESM1 => self.reset_missile(register - RESM0, clock),
            RESBL => {
                self.ball.position = self.strobed_ball(clock);
                self.touch(Object::Bl);
            }
            GRP0 => {
                self.players[0].graphics = value;
                self.players[1].graphics_old = self.players[1].graphics;
                self.touch(Object::P0);
                self.touch(Object::P1);
            }
            GRP1 => {
                self.players[1].graphics = value;
                self.players[0].graphics_old = self.players[0].graphics;
                self.ball.enabled_old = self.ball.enabled;
                self.touch(Object::P0);
                self.touch(Object::P1);
                self.touch(Object::Bl);
            }
            ENAM0 | ENAM1 => {
                self.missiles[usize::from(register - ENAM0)].enabled = value & 0x02 != 0;
                self.touch_missile(register - ENAM0);
            }
            ENABL => {
                self.ball.enabled = value & 0x02 != 0;
                self.touch(Object::Bl);
            }
            HMP0 | HMP1 => self.players[usize::from(register - HMP0)].motion = value >> 4,
            HMM0 => self.write_hmm0(value >> 4, clock),
            HMM1 => self.missiles[1].motion = value >> 4,
            HMBL => self.ball.motion = value >> 4,
            VDELP0 | VDELP1 => {
                self.players[usize::from(register - VDELP0)].delayed = value & 0x01 != 0;
                self.touch_player(register - VDELP0);
            }
            VDELBL => {
                self.ball.delayed = value & 0x01 != 0;
                self.touch(Object::Bl);
            }
            RESMP0 | RESMP1 => self.write_resmp(register - RESMP0, value),
            HMOVE => self.write_hmove(clock),
            HMCLR => {
                for motion in self.motions() {
                    *motion = 0;
                }
            }
            CXCLR => self.collisions = 0,
            // WSYNC holds the CPU, which is the console's affair; RSYNC and the sound registers leave no trace.
            _ => {}
        }
    }

    fn touch_player(&mut self, index: u16) {
        self.touch(if index == 0 { Object::P0 } else { Object::P1 });
    }

    fn touch_missile(&mut self, index: u16) {
        self.touch(if index == 0 { Object::M0 } else { Object::M1 });
    }

    fn finish_frame(&mut self) {
        self.unfinished = false;
    }

    /// The frame ends when VSYNC is cleared at least a line after it was set (alien once clears it too early).
    fn write_vsync(&mut self, value: u8, clock: i32) {
        if value & 0x02 != 0 {
            self.vsync_finish = clock.wrapping_add(super::LINE);
        } else if clock >= self.vsync_finish {
            self.vsync_finish = NEVER;
            self.finish_frame();
        }
    }

    fn write_vblank(&mut self, value: u8, now: u32) {
        let dump = value & 0x80 != 0;
        if self.dump && !dump {
            self.dump_end = now;
        }
        self.dump = dump;
        self.vblank = value;
    }

    fn write_nusiz(&mut self, index: u16, value: u8) {
        let (player, missile) = (
            &mut self.players[usize::from(index)],
            &mut self.missiles[usize::from(index)],
        );
        player.copies = value & 7;
        player.first_suppressed = false;
        missile.copies = value & 7;
        missile.size = value >> 4 & 3;
        missile.shape = MissileShape::Normal;
        self.touch_player(index);
        self.touch_missile(index);
    }

    fn write_ctrlpf(&mut self, value: u8, clock: i32) {
        let field = &mut self.playfield;
        field.reflect = value & 0x01 != 0;
        field.score = value & 0x02 != 0;
        field.priority = value & 0x04 != 0;
        self.ball.size = value >> 4 & 3;
        self.touch(Object::Bl);
        if self.horizontal(clock) < LAST_REFLECTION {
            self.playfield.reflected = self.playfield.reflect;
            self.touch(Object::Pf);
        }
    }

    /// RESP0 and RESP1. What happens to the first copy depends on what the player was doing at its old position:
    /// a copy being shown ends first, and one that is about to be shown still comes.
    fn reset_player(&mut self, index: u16, clock: i32) {
        let position = match self.horizontal(clock) {
            horizontal if horizontal < HBLANK => 3,
            horizontal => (horizontal - HBLANK + 5) % WIDTH as i32,
        };
        let player = &self.players[usize::from(index)];
        let width = i32::from(PLAYER_WIDTH[usize::from(player.copies)]);
        let since = |&offset: &u8| distance(player.position, position - i32::from(offset));
        let copies = COPIES[usize::from(player.copies)];
        let starting = copies.iter().any(|copy| (0..4).contains(&since(copy)));
        let showing = copies.iter().any(|copy| (4..4 + width).contains(&since(copy)));
        if showing {
            self.draw_to(clock + 11);
        }
        let player = &mut self.players[usize::from(index)];
        player.position = position as u8;
        player.first_suppressed = !starting;
        self.touch_player(index);
    }

    fn reset_missile(&mut self, index: u16, clock: i32) {
        let since_hmove = clock.wrapping_sub(self.last_hmove);
        let horizontal = self.horizontal(clock);
        let position = match (index, since_hmove, horizontal) {
            // Strobes that meet the end of a motion: battle_zone and pitfall2, robotank.
            (0, 60, 69) => 8,
            (1, 9, 18) => 3,
            _ => strobed(horizontal),
        };
        let missile = &mut self.missiles[usize::from(index)];
        missile.position = position;
        if index == 0 {
            missile.shape = MissileShape::Normal;
        }
        self.touch_missile(index);
    }

    fn strobed_ball(&self, clock: i32) -> u8 {
        let horizontal = self.horizontal(clock);
        match (clock.wrapping_sub(self.last_hmove), horizontal) {
            (54, 60 | 69) => 10,
            (9, 18) => 3,
            (21, 30) => 6,
            (18, 27) => 5,
            _ => strobed(horizontal),
        }
    }

    /// Releasing a missile leaves it in the middle of its player.
    fn write_resmp(&mut self, index: u16, value: u8) {
        let player = &self.players[usize::from(index)];
        let missile = &mut self.missiles[usize::from(index)];
        let lock = value & 0x02 != 0;
        if missile.locked && !lock {
            let middle = match player.copies {
                5 => 8,
                7 => 16,
                _ => 4,
            };
            missile.position = moved(player.position, middle);
            missile.shape = MissileShape::Normal;
        }
        missile.locked = lock;
        self.touch_missile(index);
    }

    fn write_hmm0(&mut self, motion: u8, clock: i32) {
        let change = (self.missiles[0].motion, motion);
        if clock.wrapping_sub(self.last_hmove) == CosmicArk::TRIGGER && change == CosmicArk::CHANGE {
            self.cosmic_ark = CosmicArk {
                active: true,
                counter: 0,
            };
        }
        self.missiles[0].motion = motion;
    }

    fn write_hmove(&mut self, clock: i32) {
        let cycle = (self.horizontal(clock) / 3) as u32;
        if self.geometry.hmove_blanks && (cycle <= 20 || cycle == 75) {
            self.hmove_blank = true;
        }
        let shift =
            |position: &mut u8, motion: u8| *position = moved(*position, motion::hmove(cycle, motion));
        for player in &mut self.players {
            shift(&mut player.position, player.motion);
        }
        for missile in &mut self.missiles {
            shift(&mut missile.position, missile.motion);
        }
        shift(&mut self.ball.position, self.ball.motion);
        self.missiles[0].shape = MissileShape::Normal;
        self.cosmic_ark.active = false;
        self.last_hmove = clock;
        self.show_first_copies();
        for object in [Object::P0, Object::P1, Object::M0, Object::M1, Object::Bl] {
            self.touch(object);
        }
    }

    fn motions(&mut self) -> [&mut u8; 5] {
        let [p0, p1] = &mut self.players;
        let [m0, m1] = &mut self.missiles;
        [
            &mut p0.motion,
            &mut p1.motion,
            &mut m0.motion,
            &mut m1.motion,
            &mut self.ball.motion,
        ]
    }
}

/// Where a missile or the ball appears when it is strobed at this colour clock of a line.
fn strobed(horizontal: i32) -> u8 {
    match horizontal {
        blank if blank < HBLANK => 2,
        visible => ((visible - HBLANK + 4) % WIDTH as i32) as u8,
    }
}
