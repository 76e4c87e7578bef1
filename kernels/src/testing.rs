//! For tests of this crate and of those that use it.

use std::cell::Cell;

use burn::tensor::{Device, DeviceType};

thread_local! {
    static SIMULATE_DEVICE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `run` as if the CPU were another device, so that the code paths of devices are tested everywhere.
pub fn simulate_device<T>(run: impl FnOnce() -> T) -> T {
    SIMULATE_DEVICE.set(true);
    let result = run();
    SIMULATE_DEVICE.set(false);
    result
}

pub(crate) fn is_device_simulated() -> bool {
    SIMULATE_DEVICE.get()
}

/// Runs `operation` with `count` threads for parallel work.
#[cfg(test)]
pub(crate) fn with_threads<T: Send>(count: usize, operation: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap().install(operation)
}

/// Largest deviation of a value on a device from that on the CPU, relative to the value plus 1. Deviations arise
/// because sums are computed in another order.
pub const TOLERANCE: f32 = 1e-4;

/// A device that this build supports: its name, its type, and the function that opens it.
type Known = (&'static str, DeviceType, fn() -> Device);

const KNOWN: &[Known] = &[
    #[cfg(feature = "wgpu")]
    ("wgpu", DeviceType::Wgpu, || Device::wgpu(burn::tensor::DeviceKind::DefaultDevice)),
    #[cfg(feature = "vulkan")]
    ("vulkan", DeviceType::Vulkan, || Device::vulkan(burn::tensor::DeviceKind::DefaultDevice)),
    #[cfg(feature = "cuda")]
    ("cuda", DeviceType::Cuda, || Device::cuda(0)),
];

/// Returns the devices of this build that the machine has, or the one that `ALE_TRAIN_TEST_DEVICE` names, which it must
/// have.
pub fn gpus() -> Vec<Device> {
    let wanted = std::env::var("ALE_TRAIN_TEST_DEVICE").ok();
    let mut gpus = Vec::new();
    for (name, kind, open) in KNOWN {
        if wanted.as_deref().is_some_and(|wanted| wanted != *name) {
            continue;
        }
        if Device::enumerate(kind.clone()).into_vec().is_empty() {
            println!("skipped: this machine has no device for {name}");
            continue;
        }
        gpus.push(open());
    }
    assert!(wanted.is_none() || gpus.len() == 1, "{wanted:?} is not a device of this build and machine");
    gpus
}

/// Returns the largest of some errors; NaN if one of them is NaN, so that a comparison with a limit fails.
pub fn largest(errors: impl IntoIterator<Item = f32>) -> f32 {
    errors
        .into_iter()
        .fold(0.0, |largest: f32, error| if largest.is_nan() || error < largest { largest } else { error })
}
