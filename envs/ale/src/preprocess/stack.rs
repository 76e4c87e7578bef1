/// The newest frames in a ring buffer.
#[derive(Clone, Debug)]
pub(crate) struct FrameStack {
    frames: Box<[u8]>,
    frame_bytes: usize,
    /// The index of the newest frame; the oldest follows it.
    newest: usize,
}

impl FrameStack {
    /// Returns a stack of `depth` black frames.
    pub(crate) fn new(depth: usize, frame_bytes: usize) -> Self {
        Self { frames: vec![0; depth * frame_bytes].into(), frame_bytes, newest: 0 }
    }

    /// Sets all frames to black.
    pub(crate) fn clear(&mut self) {
        self.frames.fill(0);
    }

    /// Turns the oldest frame into the newest and returns it for overwriting.
    pub(crate) fn push(&mut self) -> &mut [u8] {
        self.push_after().1
    }

    /// Like [`push`](Self::push). Also returns the frame that was the newest, unless the stack has only one.
    pub(crate) fn push_after(&mut self) -> (Option<&[u8]>, &mut [u8]) {
        let length = self.frame_bytes;
        let last = self.frames.len() / length - 1;
        if self.newest < last {
            self.newest += 1;
            let (older, newest) = self.frames.split_at_mut(self.newest * length);
            return (Some(&older[(self.newest - 1) * length..]), &mut newest[..length]);
        }
        self.newest = 0;
        let (newest, others) = self.frames.split_at_mut(length);
        (last.checked_sub(1).map(|before| &others[before * length..]), newest)
    }

    /// Replaces the oldest frame by a copy of the newest.
    pub(crate) fn repeat_newest(&mut self) {
        let from = self.newest * self.frame_bytes;
        self.push();
        self.frames.copy_within(from..from + self.frame_bytes, self.newest * self.frame_bytes);
    }

    /// Replaces all frames by copies of the newest.
    pub(crate) fn fill_with_newest(&mut self) {
        let from = self.newest * self.frame_bytes;
        for to in (0..self.frames.len()).step_by(self.frame_bytes) {
            self.frames.copy_within(from..from + self.frame_bytes, to);
        }
    }

    /// Returns the number of bytes of all frames.
    pub(crate) fn byte_len(&self) -> usize {
        self.frames.len()
    }

    /// Writes the frames, oldest first.
    pub(crate) fn write(&self, frames: &mut [u8]) {
        let (up_to_newest, oldest) = self.frames.split_at((self.newest + 1) * self.frame_bytes);
        let (first, last) = frames.split_at_mut(oldest.len());
        first.copy_from_slice(oldest);
        last.copy_from_slice(up_to_newest);
    }

    /// Replaces the frames, oldest first.
    pub(crate) fn read(&mut self, frames: &[u8]) {
        self.frames.copy_from_slice(frames);
        self.newest = self.frames.len() / self.frame_bytes - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn observations_start_with_the_oldest_frame() {
        let mut stack = FrameStack::new(3, 2);
        let mut frames = [9; 6];
        stack.push().copy_from_slice(&[1, 1]);
        stack.write(&mut frames);
        assert_eq!(frames, [0, 0, 0, 0, 1, 1]);
        let (before, newest) = stack.push_after();
        assert_eq!(before, Some([1, 1].as_slice()));
        newest.copy_from_slice(&[2, 1]);
        stack.repeat_newest();
        stack.push().copy_from_slice(&[2, 3]);
        stack.write(&mut frames);
        assert_eq!(frames, [2, 1, 2, 1, 2, 3]);
        let mut other = FrameStack::new(3, 2);
        other.read(&frames);
        stack.push().fill(7);
        other.push().fill(7);
        let mut others = [0; 6];
        stack.write(&mut frames);
        other.write(&mut others);
        assert_eq!(frames, [2, 1, 2, 3, 7, 7]);
        assert_eq!(others, frames);
        stack.fill_with_newest();
        stack.write(&mut frames);
        assert_eq!(frames, [7; 6]);
        let mut single = FrameStack::new(1, 2);
        let (before, newest) = single.push_after();
        assert_eq!((before, newest.len()), (None, 2));
    }
}
