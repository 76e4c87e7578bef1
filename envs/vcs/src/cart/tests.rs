use super::*;

/// Returns an image in which every byte is the index of its kilobyte.
fn numbered(kilobytes: usize) -> Arc<[u8]> {
    (0..kilobytes * SLICE).map(|offset| (offset / SLICE) as u8).collect()
}

fn cartridge(scheme: Scheme, kilobytes: usize) -> Cartridge {
    Cartridge::new(numbered(kilobytes), scheme).expect("the image has the scheme's size")
}

/// Returns the kilobytes in the window's four slots, read away from ports and hotspots.
fn shown(cartridge: &Cartridge) -> [u8; 4] {
    [0x12FF, 0x16FF, 0x1AFF, 0x1EFF].map(|address| cartridge.peek(address))
}

/// Returns the kilobytes of the 4 KB bank `bank`.
fn bank(bank: u8) -> [u8; 4] {
    [0, 1, 2, 3].map(|slice| 4 * bank + slice)
}

#[test]
fn two_kilobytes_are_mirrored() {
    assert_eq!(shown(&cartridge(Scheme::Rom2K, 2)), [0, 1, 0, 1]);
}

#[test]
fn reading_or_writing_a_hotspot_selects_its_bank_and_reads_its_byte() {
    for (scheme, kilobytes, first, start) in [
        (Scheme::F8, 8, 0x1FF8, 1),
        (Scheme::F8Sc, 8, 0x1FF8, 1),
        (Scheme::F6, 16, 0x1FF6, 0),
        (Scheme::F6Sc, 16, 0x1FF6, 0),
        (Scheme::F4, 32, 0x1FF4, 0),
        (Scheme::F4Sc, 32, 0x1FF4, 0),
        (Scheme::Fa, 12, 0x1FF8, 2),
    ] {
        let mut cartridge = cartridge(scheme, kilobytes);
        assert_eq!(shown(&cartridge), bank(start), "{scheme} at power-up");
        for index in (0..kilobytes as u8 / 4).rev() {
            let hotspot = first + u16::from(index);
            assert_eq!(cartridge.read(hotspot, 0), 4 * index + 3, "{scheme}: the byte of the new bank");
            assert_eq!(shown(&cartridge), bank(index), "{scheme} after a read");
            cartridge.select(0);
            cartridge.write(hotspot, 0);
            assert_eq!(shown(&cartridge), bank(index), "{scheme} after a write");
        }
    }
}

#[test]
fn ram_is_written_at_one_port_and_read_at_the_other() {
    for (scheme, kilobytes, write, read, size) in [
        (Scheme::F8Sc, 8, 0x1000, 0x1080, 128),
        (Scheme::F6Sc, 16, 0x1000, 0x1080, 128),
        (Scheme::F4Sc, 32, 0x1000, 0x1080, 128),
        (Scheme::Fa, 12, 0x1000, 0x1100, 256),
        (Scheme::Cv, 2, 0x1400, 0x1000, 1024),
    ] {
        let mut cartridge = cartridge(scheme, kilobytes);
        for offset in 0..size {
            cartridge.write(write + offset, !(offset as u8));
            cartridge.write(read + offset, 0x55);
        }
        for offset in 0..size {
            assert_eq!(cartridge.read(read + offset, 0), !(offset as u8), "{scheme} at {offset:#x}");
        }
        let rom = cartridge.mapped(write);
        assert_eq!(
            cartridge.read(write, 0),
            rom,
            "{scheme}: the write port reads the image and ignores the write"
        );
        assert_eq!(cartridge.read(read, 0), 0xFF, "{scheme}");
    }
}

#[test]
fn commavid_shows_its_image_in_the_upper_half() {
    let mut cartridge = cartridge(Scheme::Cv, 2);
    assert_eq!([0x1800, 0x1C00].map(|address| cartridge.read(address, 0)), [0, 1]);
}

#[test]
fn parker_brothers_switches_three_slots_and_fixes_the_fourth() {
    let mut cartridge = cartridge(Scheme::E0, 8);
    assert_eq!(shown(&cartridge), [4, 5, 6, 7]);
    cartridge.read(0x1FE2, 0);
    cartridge.write(0x1FE8, 0);
    cartridge.read(0x1FF7, 0);
    assert_eq!(shown(&cartridge), [2, 0, 7, 7]);
    cartridge.read(0x1FF8, 0);
    assert_eq!(shown(&cartridge), [2, 0, 7, 7]);
}

#[test]
fn activision_selects_the_bank_by_address_line_13() {
    let mut cartridge = cartridge(Scheme::Fe, 8);
    assert_eq!([0xF000, 0xD000].map(|address| cartridge.read(address, 0)), [0, 4]);
}

#[test]
fn units_and_cartridges_agree_on_the_index_of_code() {
    for (scheme, kilobytes) in [(Scheme::Rom2K, 2), (Scheme::F6, 16), (Scheme::E0, 8), (Scheme::Fe, 8)] {
        let mut cartridge = cartridge(scheme, kilobytes);
        // Hotspots that select the second bank of F6, and slice 3 in slot 0 of E0.
        cartridge.read(0x1FF7, 0);
        cartridge.read(0x1FE3, 0);
        let mut same = 0;
        for from in (0xD000..=0xFFFF).step_by(0x80) {
            let Some(unit) = cartridge.unit(from) else { continue };
            assert_eq!(unit.code_index(from), cartridge.code_index(from), "{scheme} {from:04X}");
            for to in (0xC000..=0xFFFF).step_by(0x80) {
                if let Some(index) = unit.code_index(to) {
                    assert_eq!(Some(index), cartridge.code_index(to), "{scheme} {from:04X} {to:04X}");
                    same += 1;
                }
            }
        }
        assert!(same > 0, "{scheme}");
    }
}

/// A12 is clear there, whatever the other address lines are.
#[test]
fn units_have_no_bytes_outside_of_the_cartridge() {
    for (scheme, kilobytes) in [(Scheme::Rom2K, 2), (Scheme::F6, 16), (Scheme::E0, 8), (Scheme::Fe, 8)] {
        let cartridge = cartridge(scheme, kilobytes);
        let unit = cartridge.unit(0xF000).expect("the scheme is translated");
        assert!(unit.offset(0xF200).is_some(), "{scheme}");
        for address in (0..=0xFFFF).filter(|address| address & 0x1000 == 0) {
            assert_eq!(unit.offset(address), None, "{scheme} {address:04X}");
        }
    }
}

const ALL_SCHEMES: [Scheme; 17] = [
    Scheme::Rom2K,
    Scheme::Rom4K,
    Scheme::F8,
    Scheme::F8Sc,
    Scheme::F6,
    Scheme::F6Sc,
    Scheme::F4,
    Scheme::F4Sc,
    Scheme::Fa,
    Scheme::Tigervision,
    Scheme::Cv,
    Scheme::E7,
    Scheme::Ua,
    Scheme::Econobanking,
    Scheme::E0,
    Scheme::Fe,
    Scheme::Dpc,
];

#[test]
fn every_window_that_bank_switching_leads_to_is_accepted() {
    for scheme in ALL_SCHEMES {
        for &size in scheme.sizes() {
            let start = Cartridge::new(vec![0; size].into(), scheme).expect("the scheme has the size");
            let mut cartridge = start.clone();
            let mut windows = std::collections::HashSet::from([start.window]);
            for address in 0..=0x1FFF {
                for value in [address as u8, 0xFF] {
                    if address & 0x1000 != 0 {
                        cartridge.read(address, 0);
                        cartridge.write(address, value);
                    } else if cartridge.snoops() {
                        cartridge.snoop(address, None);
                        cartridge.snoop(address, Some(value));
                    }
                    windows.insert(cartridge.window);
                    assert!(start.accepts(&cartridge), "{scheme}, {size} bytes: {:?}", cartridge.window);
                }
            }
            let switches = scheme.switched_banks().0 > 0;
            assert_eq!(windows.len() > 1, switches, "{scheme}, {size} bytes: {windows:?}");
        }
    }
}

#[test]
fn windows_that_bank_switching_cannot_lead_to_are_refused() {
    for scheme in ALL_SCHEMES {
        for &size in scheme.sizes() {
            let cartridge = Cartridge::new(vec![0; size].into(), scheme).expect("the scheme has the size");
            for slot in 0..4 {
                let mut wrong = vec![cartridge.window[slot] + 1, size as u32 / 1024 * 1024, u32::MAX];
                if scheme != Scheme::E0 || slot == 3 {
                    // A slice of another place in the bank, or of another bank.
                    wrong.push(cartridge.window[slot] ^ 1024);
                    wrong.push(cartridge.window[slot] ^ 2048);
                }
                for offset in wrong {
                    let mut damaged = cartridge.clone();
                    damaged.window[slot] = offset;
                    assert!(!cartridge.accepts(&damaged), "{scheme}, {size} bytes: {:?}", damaged.window);
                }
            }
        }
    }
    let four_kilobytes = cartridge(Scheme::Rom4K, 4);
    let mut damaged = four_kilobytes.clone();
    damaged.window[0] = 3072;
    assert!(!four_kilobytes.accepts(&damaged), "a bank that begins within the image and ends beyond it");
}

#[test]
fn tigervision_snoops_writes_of_the_first_64_addresses() {
    let mut cartridge = cartridge(Scheme::Tigervision, 8);
    assert_eq!(shown(&cartridge), [0, 1, 6, 7]);
    cartridge.snoop(0x003F, Some(2));
    assert_eq!(shown(&cartridge), [4, 5, 6, 7]);
    cartridge.snoop(0x0040, Some(1));
    cartridge.snoop(0x003F, None);
    assert_eq!(shown(&cartridge), [4, 5, 6, 7]);
    cartridge.snoop(0x0000, Some(7));
    assert_eq!(shown(&cartridge), [6, 7, 6, 7], "bank numbers wrap");
}

#[test]
fn m_network_switches_half_the_window_and_two_kinds_of_ram() {
    let mut cartridge = cartridge(Scheme::E7, 16);
    assert_eq!([0x1000, 0x17FF, 0x1A00, 0x1FFF].map(|address| cartridge.peek(address)), [0, 1, 14, 15]);
    cartridge.read(0x1FE5, 0);
    assert_eq!([0x1000, 0x17FF].map(|address| cartridge.peek(address)), [10, 11]);
    for page in 0..4 {
        cartridge.read(0x1FE8 + page, 0);
        cartridge.write(0x1800, page as u8 + 100);
    }
    cartridge.read(0x1FE7, 0);
    cartridge.write(0x13FF, 42);
    assert_eq!(cartridge.read(0x17FF, 0), 42);
    for page in 0..4 {
        cartridge.read(0x1FE8 + page, 0);
        assert_eq!(cartridge.read(0x1900, 0), page as u8 + 100);
    }
    cartridge.read(0x1FE0, 0);
    assert_eq!(cartridge.peek(0x1000), 0, "the bank replaces the RAM again");
}

#[test]
fn ua_and_econobanking_snoop_two_addresses() {
    for (scheme, first, second) in [(Scheme::Ua, 0x0220, 0x0240), (Scheme::Econobanking, 0x0800, 0x0840)] {
        let mut cartridge = cartridge(scheme, 8);
        assert_eq!(shown(&cartridge), bank(0), "{scheme}");
        cartridge.snoop(second, None);
        assert_eq!(shown(&cartridge), bank(1), "{scheme}");
        cartridge.snoop(first, Some(0));
        assert_eq!(shown(&cartridge), bank(0), "{scheme}");
    }
}

#[test]
fn images_of_unknown_size_are_refused() {
    let error = |size: usize| Cartridge::detect(vec![0; size].into()).unwrap_err();
    assert_eq!(error(0), CartridgeError::Empty);
    assert_eq!(error(4095), CartridgeError::UnknownSize { size: 4095 });
    let message = error(1000).to_string();
    for size in ALL_SCHEMES.iter().flat_map(|scheme| scheme.sizes()) {
        assert!(message.contains(&format!(" {size}")), "{size}: {message}");
    }
    let wrong = Cartridge::new(numbered(4), Scheme::F8).unwrap_err();
    assert_eq!(wrong.to_string(), "the ROM image has 4096 bytes, but a cartridge of scheme F8 has 8192");
    let wrong = Cartridge::new(numbered(4), Scheme::Dpc).unwrap_err().to_string();
    assert_eq!(
        wrong,
        "the ROM image has 4096 bytes, but a cartridge of scheme DPC has 10495, 10240 or 10496"
    );
}

/// Pitfall II's random register takes 255 states: all but the one that it cannot leave.
#[test]
fn the_display_processor_draws_a_full_cycle_of_random_numbers() {
    let mut image = vec![0; 10240];
    image[8192..].copy_from_slice(&[7; 2048]);
    let mut cartridge = Cartridge::new(image.into(), Scheme::Dpc).expect("the image has the scheme's size");
    cartridge.write(0x1070, 0);
    let mut seen = std::collections::HashSet::new();
    while seen.insert(cartridge.read(0x1000, 0)) {}
    assert_eq!(seen.len(), 255);
    assert!(!seen.contains(&0xFF));
}

/// A fetcher counts down through the display data from the image's end, and its flag masks the data.
#[test]
fn the_display_processor_fetches_display_data_backwards() {
    let mut image = vec![0; 10240];
    for offset in 0..2048 {
        image[8192 + offset] = offset as u8;
    }
    let mut cartridge = Cartridge::new(image.into(), Scheme::Dpc).expect("the image has the scheme's size");
    cartridge.write(0x1052, 0x10);
    cartridge.write(0x105A, 0x00);
    let fetched = [0; 3].map(|_| cartridge.read(0x100A, 0));
    let from_the_end = |counter: usize| ((2047 - counter) & 0xFF) as u8;
    assert_eq!(fetched, [0x10, 0x0F, 0x0E].map(from_the_end));

    cartridge.write(0x1042, 0x0C);
    cartridge.write(0x104A, 0x0A);
    let masked = [0; 5].map(|_| cartridge.read(0x1012, 0));
    assert_eq!(masked, [0, from_the_end(0x0C), from_the_end(0x0B), 0, 0]);
}

/// A music clock lasts 75.76 cycles. A fetcher counts down from its top and is silent until it reaches its bottom.
#[test]
fn the_display_processor_makes_square_waves() {
    let mut cartridge =
        Cartridge::new(vec![0; 10240].into(), Scheme::Dpc).expect("the image has the scheme's size");
    for (address, value) in [(0x105D, 0x10), (0x1045, 3), (0x104D, 1), (0x1055, 0)] {
        cartridge.write(address, value);
    }
    assert_eq!(cartridge.read(0x1004, 75), 0, "no clock has passed");
    // The counter goes 2, 1, 0, 3 and so on.
    let amplitudes = [1, 2, 3, 4, 5, 6, 7].map(|clock| cartridge.read(0x1004, 76 * clock));
    assert_eq!(amplitudes, [4, 0, 0, 4, 4, 0, 0]);

    // Two fetchers that are high at once are mixed. A reset affects the clock only.
    for (address, value) in [(0x105E, 0x10), (0x1046, 9), (0x104E, 0), (0x1056, 0)] {
        cartridge.write(address, value);
    }
    assert_eq!(cartridge.read(0x1004, 76 * 8), 9);
    cartridge.reset(&mut Mt19937::new(0));
    assert_eq!(cartridge.read(0x1004, 76), 9);
}

/// ale-py 0.12.1 takes generated images of 8 KB with two of these instructions for 3F, those with one for F8.
#[test]
fn two_stores_to_3f_make_an_image_of_8_kb_one_of_3f() {
    for (stores, scheme) in [(1, Scheme::F8), (2, Scheme::Tigervision)] {
        let mut image = vec![0xEA; 8192];
        for store in 0..stores {
            image[16 * store..][..2].copy_from_slice(&[0x85, 0x3F]);
        }
        let cartridge = Cartridge::detect(image.into()).expect("a possible size");
        assert_eq!(cartridge.scheme(), scheme, "{stores} stores");
    }
}
