use burn::tensor::{Bool, Device, Tensor, TensorData};
use kernels::host::count_upload;

/// The logit of an illegal action. It is finite, so that no gradient becomes NaN, and so far below any other logit that
/// its probability is exactly 0.
pub const ILLEGAL_LOGIT: f32 = -1e30;

/// Returns the mask of illegal actions, `[rows, max_actions]`, for rows with the given numbers of legal
/// actions, which come first.
pub fn illegal_actions(counts: &[usize], max_actions: usize, device: &Device) -> Tensor<2, Bool> {
    let mask: Vec<bool> =
        counts.iter().flat_map(|&count| (0..max_actions).map(move |action| action >= count)).collect();
    count_upload();
    Tensor::from_data(TensorData::new(mask, [counts.len(), max_actions]), device)
}

/// Returns the mask of the options that the action masks of some rows do not allow, `[rows, max_actions]`. An action
/// mask has a byte for each option, 1 if it is allowed, and may be followed by others.
pub(super) fn forbidden_options(masks: &[&[u8]], max_actions: usize, device: &Device) -> Tensor<2, Bool> {
    let is_forbidden = |mask: &&[u8], option: usize| mask.get(option) != Some(&1);
    let of_row = |mask| (0..max_actions).map(move |option| is_forbidden(mask, option));
    let forbidden: Vec<bool> = masks.iter().flat_map(of_row).collect();
    count_upload();
    Tensor::from_data(TensorData::new(forbidden, [masks.len(), max_actions]), device)
}

/// Replaces the logits of illegal actions with [`ILLEGAL_LOGIT`], which blocks their gradient (Huang and
/// Ontanon 2022, "A closer look at invalid action masking in policy gradient algorithms",
/// <https://arxiv.org/abs/2006.14171>).
///
/// Both arguments are `[rows, max_actions]`.
///
/// ```
/// use algorithms::networks::{illegal_actions, mask_logits};
/// use burn::tensor::activation::softmax;
/// use burn::tensor::{Device, Tensor};
///
/// let device = Device::flex();
/// let logits = Tensor::<2>::from_floats([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], &device);
/// let illegal = illegal_actions(&[3, 2], 3, &device);
/// let probabilities: Vec<f32> = softmax(mask_logits(logits, illegal), 1).try_into_vec_as().unwrap();
/// assert_eq!(probabilities[3..], [0.5, 0.5, 0.0]);
/// ```
pub fn mask_logits(logits: Tensor<2>, illegal: Tensor<2, Bool>) -> Tensor<2> {
    logits.mask_fill(illegal, ILLEGAL_LOGIT)
}
