//! Writes of the TIA's registers and their effects.
//!
//! A write takes effect at once or, in a frame that is logged, when the [log](super::log) is applied. It extends
//! the pending pixels up to the clock at which it takes effect. If it changes a value that pending pixels show,
//! they are flushed first.

use super::collision::{MISSILES, Object, PLAYERS};
use super::draw::Draw;
use super::motion::{self, CosmicArk};
use super::objects::{COPIES, MissileShape, PLAYER_WIDTH, Player, distance, moved};
use super::playfield::Playfield;
use super::registers::{
    AUDC0, AUDV1, COLUBK, COLUP0, CTRLPF, CXCLR, ENABL, ENAM0, ENAM1, GRP0, GRP1, HMBL, HMCLR, HMM0, HMM1,
    HMOVE, HMP0, HMP1, NUSIZ0, NUSIZ1, PF0, PF1, PF2, REFP0, REFP1, RESBL, RESM0, RESM1, RESMP0, RESMP1,
    RESP0, RESP1, VBLANK, VDELBL, VDELP0, VDELP1, VSYNC,
};
use super::spans::BySpans;
use super::{HBLANK, LINE, NEVER, Tia, WIDTH};

/// Colour clocks until a write takes effect on the screen, by register and by CPU cycle of the line modulo 4. Only the
/// delays of the playfield depend on the cycle.
const DELAYS: [[u8; 4]; 64] = {
    let mut delays = [[0; 4]; 64];
    delays[VBLANK as usize] = [1; 4];
    delays[NUSIZ0 as usize] = [8; 4];
    delays[NUSIZ1 as usize] = [8; 4];
    delays[REFP0 as usize] = [1; 4];
    delays[REFP1 as usize] = [1; 4];
    delays[PF0 as usize] = [4, 5, 2, 3];
    delays[PF1 as usize] = [4, 5, 2, 3];
    delays[PF2 as usize] = [4, 5, 2, 3];
    delays[RESM0 as usize] = [8; 4];
    delays[RESM1 as usize] = [8; 4];
    delays[GRP0 as usize] = [1; 4];
    delays[GRP1 as usize] = [1; 4];
    delays
};

/// CTRLPF's reflection bit takes effect immediately only before this colour clock of a line.
const LAST_REFLECTION: i32 = 147;

impl Tia {
    /// Writes register `address & 0x3F` at CPU cycle `now`.
    pub(crate) fn write(&mut self, address: u16, value: u8, now: u32) {
        let register = address & 0x3F;
        let clock = (now as i32).wrapping_mul(3);
        if clock.wrapping_sub(self.beam.frame_start) >= (self.geometry.last_line + 1) * LINE {
            self.finish_frame();
        }
        match register {
            VSYNC => self.write_vsync(value, clock),
            VBLANK => self.write_dump(value & 0x80 != 0, now),
            AUDC0..=AUDV1 => self.sound.write(register, value),
            _ => {}
        }
        if !self.append(register, value, now) {
            // Unlike in a frame that is logged, the clock may have wrapped since the frame began.
            let phase = (self.horizontal(clock) as u32 / 3).wrapping_sub(now);
            self.apply::<BySpans>(register, value, now, phase);
        }
    }

    /// Applies a write that was made at CPU cycle `now` to the picture. `now + phase` equals the cycle of the line
    /// modulo 4.
    #[allow(clippy::inline_always)] // Once in each of two loops.
    #[inline(always)]
    pub(super) fn apply<D: Draw>(&mut self, register: u16, value: u8, now: u32, phase: u32) {
        let clock = (now as i32).wrapping_mul(3);
        let delay: i32 = DELAYS[usize::from(register)][(now.wrapping_add(phase) % 4) as usize].into();
        D::extend_pending(self, clock.wrapping_add(delay));
        let bit = |mask: u8| value & mask != 0;
        match register {
            VBLANK if self.vblank != value => {
                D::flush(self);
                self.vblank = value;
            }
            NUSIZ0 | NUSIZ1 => self.write_nusiz::<D>(register - NUSIZ0, value),
            COLUP0..=COLUBK => {
                let index = usize::from(register - COLUP0);
                // Bit 0 shows whether the last frame had an odd number of lines (PAL).
                let colour = value & 0xFE | self.colours[index] & 1;
                if self.colours[index] != colour {
                    D::flush_coloured(self, index);
                    self.colours[index] = colour;
                    self.line.above = None;
                }
            }
            CTRLPF => self.write_ctrlpf::<D>(value, clock),
            REFP0 | REFP1 => {
                let index = usize::from(register - REFP0);
                self.change_shape::<D, _>(|tia| &mut tia.players[index].reflected, bit(0x08), PLAYERS[index]);
            }
            PF0 => self.change_cells::<D>(0, 0xF, value >> 4),
            PF1 => self.change_cells::<D>(4, 0xFF, value.reverse_bits()),
            PF2 => self.change_cells::<D>(12, 0xFF, value),
            RESP0 | RESP1 => self.reset_player::<D>(register - RESP0, clock),
            RESM0 | RESM1 => self.reset_missile::<D>(register - RESM0, clock),
            RESBL => {
                let position = self.strobed_ball(clock);
                self.change_shape::<D, _>(|tia| &mut tia.ball.position, position, Object::Bl);
            }
            GRP0 => {
                self.change_graphics::<D>(0, value);
                self.copy_graphics::<D>(1);
            }
            GRP1 => {
                self.change_graphics::<D>(1, value);
                self.copy_graphics::<D>(0);
                let enabled = self.ball.enabled;
                self.change::<D, _>(|tia| &mut tia.ball.enabled_old, enabled, Object::Bl);
            }
            ENAM0 | ENAM1 => {
                let index = usize::from(register - ENAM0);
                self.change::<D, _>(|tia| &mut tia.missiles[index].enabled, bit(0x02), MISSILES[index]);
            }
            ENABL => self.change::<D, _>(|tia| &mut tia.ball.enabled, bit(0x02), Object::Bl),
            HMP0 | HMP1 => self.players[usize::from(register - HMP0)].motion = value >> 4,
            HMM0 => self.write_hmm0::<D>(value >> 4, clock),
            HMM1 => self.missiles[1].motion = value >> 4,
            HMBL => self.ball.motion = value >> 4,
            VDELP0 | VDELP1 => {
                let index = usize::from(register - VDELP0);
                self.change::<D, _>(|tia| &mut tia.players[index].delayed, bit(0x01), PLAYERS[index]);
            }
            VDELBL => self.change::<D, _>(|tia| &mut tia.ball.delayed, bit(0x01), Object::Bl),
            RESMP0 | RESMP1 => self.write_resmp::<D>(register - RESMP0, value),
            HMOVE => self.write_hmove::<D>(clock),
            HMCLR => self.clear_motion(),
            CXCLR => {
                D::flush(self);
                self.collisions = 0;
                self.line.above = None;
                self.deferred.clear();
            }
            // VSYNC and the sound registers have already had their effect. The machine handles WSYNC, which halts the
            // CPU. RSYNC has no effect.
            _ => {}
        }
    }

    /// Changes a property of `object`, and flushes the object first if it is switched on before or after the
    /// change.
    #[inline]
    fn change<D: Draw, T: Copy + PartialEq>(
        &mut self,
        part: impl Fn(&mut Self) -> &mut T,
        value: T,
        object: Object,
    ) {
        if *part(self) == value {
            return;
        }
        let before = std::mem::replace(part(self), value);
        if self.is_active(object) || self.is_on(object) {
            *part(self) = before;
            D::flush_object(self, object);
            *part(self) = value;
        }
        self.mark_stale(object);
    }

    /// Like [`change`](Self::change), for a property that does not switch the object on or off.
    #[inline]
    fn change_shape<D: Draw, T: Copy + PartialEq>(
        &mut self,
        part: impl Fn(&mut Self) -> &mut T,
        value: T,
        object: Object,
    ) {
        if *part(self) == value {
            return;
        }
        self.flush_active::<D>(object);
        *part(self) = value;
        self.mark_reshaped(object);
    }

    #[inline]
    fn change_cells<D: Draw>(&mut self, first: u32, mask: u32, value: u8) {
        let cells = self.playfield.cells & !(mask << first) | u32::from(value) << first;
        self.change::<D, _>(|tia| &mut tia.playfield.cells, cells, Object::Pf);
    }

    /// Changes a player's graphics, which it shows unless it is delayed.
    #[allow(clippy::inline_always)] // In almost every line.
    #[inline(always)]
    fn change_graphics<D: Draw>(&mut self, index: usize, graphics: u8) {
        if self.players[index].graphics == graphics {
            return;
        }
        let shows = !self.players[index].delayed;
        if shows {
            D::flush_graphics(self, index);
        }
        self.players[index].graphics = graphics;
        if shows {
            self.mark_stale(PLAYERS[index]);
        }
    }

    /// Copies a player's graphics to its old graphics, which it shows if it is delayed.
    #[allow(clippy::inline_always)] // In almost every line.
    #[inline(always)]
    fn copy_graphics<D: Draw>(&mut self, index: usize) {
        let Player { graphics, graphics_old, delayed: shows, .. } = self.players[index];
        if graphics == graphics_old {
            return;
        }
        if shows {
            D::flush_graphics(self, index);
        }
        self.players[index].graphics_old = graphics;
        if shows {
            self.mark_stale(PLAYERS[index]);
        }
    }

    /// Returns the objects that have a colour, one bit each; none for the background.
    #[inline]
    pub(super) fn coloured(&self, index: usize) -> u8 {
        let field = |shows: bool| if shows { Object::Pf.bit() } else { 0 };
        match index {
            0 | 1 => PLAYERS[index].bit() | MISSILES[index].bit() | field(self.playfield.score),
            2 => field(true) | Object::Bl.bit(),
            _ => 0,
        }
    }

    fn finish_frame(&mut self) {
        self.unfinished = false;
    }

    /// Ends the frame if VSYNC is cleared at least a line after it was set (alien once clears it too early).
    fn write_vsync(&mut self, value: u8, clock: i32) {
        if value & 0x02 != 0 {
            self.vsync_finish = clock.wrapping_add(LINE);
        } else if clock >= self.vsync_finish {
            self.vsync_finish = NEVER;
            self.finish_frame();
        }
    }

    /// Begins or ends the discharge of the paddles' capacitors.
    fn write_dump(&mut self, dump: bool, now: u32) {
        if self.dump && !dump {
            self.dump_end = now;
        }
        self.dump = dump;
    }

    fn write_nusiz<D: Draw>(&mut self, index: u16, value: u8) {
        let index = usize::from(index);
        let (copies, size) = (value & 7, value >> 4 & 3);
        if self.has_pending_line_end() {
            // The ends of lines before this write come first.
            D::flush_object(self, PLAYERS[index]);
            D::flush_object(self, MISSILES[index]);
        }
        let player = &self.players[index];
        if player.copies != copies || player.first_suppressed {
            self.flush_active::<D>(PLAYERS[index]);
            let player = &mut self.players[index];
            player.copies = copies;
            player.first_suppressed = false;
            self.mark_stale(PLAYERS[index]);
        }
        let missile = &self.missiles[index];
        if missile.copies != copies || missile.size != size || missile.shape != MissileShape::Normal {
            self.flush_active::<D>(MISSILES[index]);
            let missile = &mut self.missiles[index];
            missile.copies = copies;
            missile.size = size;
            missile.shape = MissileShape::Normal;
            self.mark_stale(MISSILES[index]);
        }
    }

    /// Flushes or saves an object's pixels if it is switched on.
    #[inline]
    fn flush_active<D: Draw>(&mut self, object: Object) {
        if self.is_active(object) {
            D::flush_object(self, object);
        }
    }

    fn write_ctrlpf<D: Draw>(&mut self, value: u8, clock: i32) {
        let (reflect, score, priority) = (value & 0x01 != 0, value & 0x02 != 0, value & 0x04 != 0);
        let size = value >> 4 & 3;
        let field = Playfield { reflected: reflect, reflect, score, priority, ..self.playfield };
        if field == self.playfield && size == self.ball.size {
            return;
        }
        D::flush(self);
        self.playfield.reflect = reflect;
        self.playfield.score = score;
        self.playfield.priority = priority;
        self.ball.size = size;
        self.mark_stale(Object::Bl);
        if self.horizontal(clock) < LAST_REFLECTION {
            self.playfield.reflected = reflect;
            self.mark_stale(Object::Pf);
        }
    }

    /// Writes RESP0 or RESP1. The first copy depends on the player's old position: a copy that is being shown
    /// is completed first, and one that is about to begin still appears.
    fn reset_player<D: Draw>(&mut self, index: u16, clock: i32) {
        let index = usize::from(index);
        let position = match self.horizontal(clock) {
            horizontal if horizontal < HBLANK => 3,
            horizontal => (horizontal - HBLANK + 5) % WIDTH as i32,
        };
        let player = &self.players[index];
        let width = i32::from(PLAYER_WIDTH[usize::from(player.copies)]);
        let since = |&offset: &u8| distance(player.position, position - i32::from(offset));
        let copies = COPIES[usize::from(player.copies)];
        let starting = copies.iter().any(|copy| (0..4).contains(&since(copy)));
        let showing = copies.iter().any(|copy| (4..4 + width).contains(&since(copy)));
        if showing {
            D::extend_pending(self, clock.wrapping_add(11));
        }
        D::flush_object(self, PLAYERS[index]);
        let player = &mut self.players[index];
        player.position = position as u8;
        player.first_suppressed = !starting;
        self.mark_stale(PLAYERS[index]);
    }

    fn reset_missile<D: Draw>(&mut self, index: u16, clock: i32) {
        let since_hmove = clock.wrapping_sub(self.last_hmove);
        let horizontal = self.horizontal(clock);
        let position = match (index, since_hmove, horizontal) {
            // Strobes at the end of a motion: battle_zone and pitfall2; robotank.
            (0, 60, 69) => 8,
            (1, 9, 18) => 3,
            _ => strobed(horizontal),
        };
        let index = usize::from(index);
        D::flush_object(self, MISSILES[index]);
        self.missiles[index].position = position;
        self.missiles[index].shape = MissileShape::Normal;
        self.mark_stale(MISSILES[index]);
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

    /// Locks a missile to its player, or releases it in the player's middle.
    fn write_resmp<D: Draw>(&mut self, index: u16, value: u8) {
        let index = usize::from(index);
        let lock = value & 0x02 != 0;
        if self.missiles[index].locked == lock {
            return;
        }
        D::flush_object(self, MISSILES[index]);
        let player = &self.players[index];
        let missile = &mut self.missiles[index];
        if !lock {
            let middle = match player.copies {
                5 => 8,
                7 => 16,
                _ => 4,
            };
            missile.position = moved(player.position, middle);
            missile.shape = MissileShape::Normal;
        }
        missile.locked = lock;
        self.mark_stale(MISSILES[index]);
    }

    fn write_hmm0<D: Draw>(&mut self, motion: u8, clock: i32) {
        let change = (self.missiles[0].motion, motion);
        if clock.wrapping_sub(self.last_hmove) == CosmicArk::TRIGGER && change == CosmicArk::CHANGE {
            D::flush(self);
            self.cosmic_ark = CosmicArk { active: true, counter: 0 };
        }
        self.missiles[0].motion = motion;
    }

    fn write_hmove<D: Draw>(&mut self, clock: i32) {
        let cycle = (self.horizontal(clock) / 3) as u32;
        let blanks = self.geometry.hmove_blanks && (cycle <= 20 || cycle == 75);
        D::comb(self, blanks);
        let pixels = motion::hmove(cycle);
        // Many programs write HMOVE in every line and rarely move anything.
        if pixels[0] != 0 || self.has_motion() {
            for index in 0..2 {
                let distance = pixels[usize::from(self.players[index].motion)];
                self.shift::<D>(|tia| &mut tia.players[index].position, distance, PLAYERS[index]);
                let distance = pixels[usize::from(self.missiles[index].motion)];
                self.shift::<D>(|tia| &mut tia.missiles[index].position, distance, MISSILES[index]);
            }
            let distance = pixels[usize::from(self.ball.motion)];
            self.shift::<D>(|tia| &mut tia.ball.position, distance, Object::Bl);
        }
        if self.missiles[0].shape != MissileShape::Normal {
            D::flush_object(self, Object::M0);
            self.missiles[0].shape = MissileShape::Normal;
            self.mark_stale(Object::M0);
        }
        self.cosmic_ark.active = false;
        self.last_hmove = clock;
        if self.players[0].first_suppressed | self.players[1].first_suppressed {
            for (index, object) in PLAYERS.into_iter().enumerate() {
                if self.players[index].first_suppressed {
                    D::flush_object(self, object);
                }
            }
            self.show_first_copies();
        }
    }

    /// Moves an object to the right by `distance` pixels.
    #[inline]
    fn shift<D: Draw>(&mut self, position: impl Fn(&mut Self) -> &mut u8, distance: i8, object: Object) {
        if distance != 0 {
            let moved = moved(*position(self), distance.into());
            self.change_shape::<D, _>(position, moved, object);
        }
    }

    /// Returns true if a motion register is not 0.
    #[inline]
    fn has_motion(&self) -> bool {
        let [first, second] = &self.players;
        let [first_missile, second_missile] = &self.missiles;
        let players = first.motion | second.motion;
        players | first_missile.motion | second_missile.motion | self.ball.motion != 0
    }

    fn clear_motion(&mut self) {
        for player in &mut self.players {
            player.motion = 0;
        }
        for missile in &mut self.missiles {
            missile.motion = 0;
        }
        self.ball.motion = 0;
    }
}

/// Returns the position of a missile or ball that is strobed at this colour clock of a line.
fn strobed(horizontal: i32) -> u8 {
    match horizontal {
        blank if blank < HBLANK => 2,
        visible => ((visible - HBLANK + 4) % WIDTH as i32) as u8,
    }
}
