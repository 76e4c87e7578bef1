//! Parser of `datasheet.txt`.

/// The datasheet's entry for an opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub(crate) mnemonic: &'static str,
    pub(crate) mode: &'static str,
    pub(crate) cycles: u32,
    /// One more cycle if indexing crosses a page.
    pub(crate) page_penalty: bool,
}

/// Returns all instructions, indexed by opcode.
pub(crate) fn instructions() -> [Instruction; 256] {
    let mut table = [None; 256];
    for line in
        include_str!("datasheet.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let (mnemonic, entries) = line.split_once(' ').unwrap();
        for entry in entries.split('|') {
            let [code, mode, cycles] = entry.split_whitespace().collect::<Vec<_>>()[..] else {
                panic!("{mnemonic}: {entry}")
            };
            let instruction = Instruction {
                mnemonic,
                mode,
                cycles: cycles.trim_end_matches('+').parse().unwrap(),
                page_penalty: cycles.ends_with('+'),
            };
            let earlier = table[usize::from_str_radix(code, 16).unwrap()].replace(instruction);
            assert_eq!(earlier, None, "{code} is listed twice");
        }
    }
    std::array::from_fn(|code| table[code].unwrap_or_else(|| panic!("{code:02X} is not listed")))
}
