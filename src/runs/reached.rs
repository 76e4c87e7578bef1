use crate::telemetry::Moment;

/// Returns the point that the training of a run has reached. For a stopped run it is the newest checkpoint, because the
/// run continues from there and repeats the steps after it. While a process writes to the run, or without a checkpoint,
/// it is the end of the curves.
pub(crate) fn reached(saved: Option<Moment>, end_of_curves: Option<Moment>, is_running: bool) -> Moment {
    match (saved, end_of_curves) {
        (Some(saved), Some(end)) if is_running => saved.later(end),
        (Some(saved), _) => saved,
        (None, end) => end.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(frames: u64) -> Moment {
        Moment { frames, ..Moment::default() }
    }

    #[test]
    fn a_stopped_run_has_reached_its_checkpoint_and_others_the_end_of_their_curves() {
        let (saved, end) = (Some(after(8)), Some(after(9)));
        assert_eq!(reached(saved, end, false), after(8));
        assert_eq!(reached(saved, end, true), after(9));
        assert_eq!(reached(None, end, false), after(9), "such as a run whose checkpoints were deleted");
        // Some learners write no record at the end.
        assert_eq!(reached(Some(after(10)), end, true), after(10));
        assert_eq!(reached(saved, None, true), after(8));
        assert_eq!(reached(None, None, false), after(0));
    }
}
