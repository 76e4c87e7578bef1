//! The devices that run the networks.

use std::fmt;

use algorithms::networks::Precision;
use anyhow::{Result, bail, ensure};
use burn::tensor::Device;
use rl_env::nearest;

/// The name of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeviceName {
    family: Family,
    /// The index of one of several devices.
    index: Option<usize>,
}

/// A kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    /// The processor, through burn's flex backend.
    Cpu,
    /// GPUs with kernels in WGSL.
    Wgpu,
    /// GPUs with kernels in SPIR-V.
    Vulkan,
    Cuda,
}

/// Every family with its name, which is also the name of its Cargo feature.
const FAMILIES: [(Family, &str); 4] =
    [(Family::Cpu, "cpu"), (Family::Wgpu, "wgpu"), (Family::Vulkan, "vulkan"), (Family::Cuda, "cuda")];

/// Returns the names of all devices.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().map(|&(_, name)| name)
}

impl DeviceName {
    /// Parses a name such as `cpu`, `wgpu` or `cuda:1`.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let (name, index) = text.split_once(':').map_or((text, None), |(name, index)| (name, Some(index)));
        let Some(&(family, _)) = FAMILIES.iter().find(|(_, known)| *known == name) else {
            bail!("unknown device '{text}'; {ALLOWED}{}", suggestion(name));
        };
        let index = match index.map(str::parse::<u16>) {
            None => None,
            Some(Ok(index)) if family != Family::Cpu => Some(usize::from(index)),
            Some(_) => bail!("unknown device '{text}'; {ALLOWED}"),
        };
        Ok(Self { family, index })
    }

    /// Returns true for the processor.
    pub(crate) fn is_cpu(self) -> bool {
        self.family == Family::Cpu
    }

    /// Fails if the CPU does not support a precision. Other devices are checked when they are open.
    pub(crate) fn check(self, precision: Precision) -> Result<()> {
        ensure!(
            !self.is_cpu() || precision != Precision::F16,
            "policy.precision = {} is not possible on the CPU: it must be f32 or bf16",
            precision.name()
        );
        Ok(())
    }

    /// Opens the device. Unless an index is given, the devices of a machine are assigned in turn to its processes that
    /// train together. Fails if this build does not support it or the machine does not have it.
    pub(crate) fn open(self) -> Result<Device> {
        match self.family {
            Family::Cpu => Ok(Device::flex()),
            #[cfg(feature = "wgpu")]
            Family::Wgpu => gpu::wgpu(self.index),
            #[cfg(feature = "vulkan")]
            Family::Vulkan => gpu::vulkan(self.index),
            #[cfg(feature = "cuda")]
            Family::Cuda => gpu::cuda(self.index),
            #[cfg(not(all(feature = "wgpu", feature = "vulkan", feature = "cuda")))]
            other => bail!(
                "this build does not support the device '{self}'; `devices/build {}` adds it",
                other.name()
            ),
        }
    }
}

impl Family {
    fn name(self) -> &'static str {
        FAMILIES.iter().find(|(family, _)| *family == self).map_or("", |(_, name)| name)
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.family.name())?;
        self.index.map_or(Ok(()), |index| write!(f, ":{index}"))
    }
}

const ALLOWED: &str = "devices are cpu, wgpu, vulkan and cuda, or a GPU by its index such as cuda:1";

fn suggestion(name: &str) -> String {
    let similar = nearest(name, names());
    similar.first().map_or_else(String::new, |name| format!("; did you mean '{name}'?"))
}

/// Returns the index of the device for a process, among `count` devices: the configured index, or one chosen
/// round-robin by the place of the process on its machine. `None` is the default device, for a process that trains
/// alone.
#[cfg(any(feature = "wgpu", feature = "vulkan", feature = "cuda", test))]
fn chosen(configured: Option<usize>, local_rank: Option<usize>, count: usize) -> Option<usize> {
    configured.or(local_rank.map(|rank| rank % count))
}

#[cfg(any(feature = "wgpu", feature = "vulkan", feature = "cuda"))]
mod gpu {
    use anyhow::{Context, Result, ensure};
    use burn::tensor::{Device, DeviceType};

    use super::chosen;
    use crate::cluster;

    /// Opens the default adapter of the driver, or the one with the given index.
    #[cfg(feature = "wgpu")]
    pub(super) fn wgpu(index: Option<usize>) -> Result<Device> {
        pick("wgpu", DeviceType::Wgpu, index, || Device::wgpu(burn::tensor::DeviceKind::DefaultDevice))
    }

    #[cfg(feature = "vulkan")]
    pub(super) fn vulkan(index: Option<usize>) -> Result<Device> {
        pick("vulkan", DeviceType::Vulkan, index, || Device::vulkan(burn::tensor::DeviceKind::DefaultDevice))
    }

    #[cfg(feature = "cuda")]
    pub(super) fn cuda(index: Option<usize>) -> Result<Device> {
        pick("cuda", DeviceType::Cuda, index, || Device::cuda(0))
    }

    /// Opens a device of a kind: `default`, or the one with the given index.
    fn pick(name: &str, kind: DeviceType, index: Option<usize>, default: fn() -> Device) -> Result<Device> {
        let devices = Device::enumerate(kind).into_vec();
        ensure!(!devices.is_empty(), "no driver on this machine provides a device for '{name}'");
        let count = devices.len();
        let Some(index) = chosen(index, cluster::local_rank(), count) else { return Ok(default()) };
        devices.into_iter().nth(index).with_context(|| {
            format!("device {name}:{index} does not exist; this machine has {count}, counted from 0")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        DeviceName::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn errors_list_the_known_devices() {
        assert_eq!(DeviceName::parse("cpu").unwrap(), DeviceName { family: Family::Cpu, index: None });
        assert!(error("wpgu").ends_with("such as cuda:1; did you mean 'wgpu'?"));
        for text in ["abacus", "cpu:0", "wgpu:", "cuda:x", "cuda:-1", "cuda:70000", ""] {
            let error = error(text);
            assert!(error.starts_with(&format!("unknown device '{text}'; devices are cpu")), "{error}");
        }
    }

    #[test]
    fn the_processes_of_a_machine_take_its_devices_in_turn() {
        let in_turn: Vec<_> = (0..6).map(|rank| chosen(None, Some(rank), 4)).collect();
        assert_eq!(in_turn, [0, 1, 2, 3, 0, 1].map(Some));
        assert_eq!(chosen(Some(2), Some(1), 4), Some(2));
        assert_eq!(chosen(None, None, 4), None);
    }

    #[test]
    fn errors_about_missing_features_contain_the_build_command() {
        let built = [
            ("wgpu", cfg!(feature = "wgpu")),
            ("vulkan", cfg!(feature = "vulkan")),
            ("cuda", cfg!(feature = "cuda")),
        ];
        for (name, _) in built.into_iter().filter(|(_, built)| !built) {
            for text in [name.to_owned(), format!("{name}:1")] {
                let expected = format!(
                    "this build does not support the device '{text}'; `devices/build {name}` adds it"
                );
                let refusal = DeviceName::parse(&text).unwrap().open().unwrap_err();
                assert_eq!(refusal.to_string(), expected);
            }
        }
        assert!(DeviceName::parse("cpu").unwrap().open().is_ok());
    }
}
