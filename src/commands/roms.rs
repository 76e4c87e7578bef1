//! `ale-train roms`: lists, fetches and imports ROMs.

use std::io::Write;

use ale::roms::{Imported, Manifest, Md5Sum, RomState, RomStore};
use anyhow::Result;
use serde_json::{Value, json};

use crate::cli::{Global, RomsArgs, RomsCommand};
use crate::rom_sources::{pip, store};

/// Runs a subcommand.
pub(crate) fn run(args: RomsArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    let store = store(global)?;
    match args.command {
        RomsCommand::Fetch => {
            let pip =
                pip(global).ok_or_else(|| anyhow::anyhow!("`roms fetch` cannot be used with --offline"))?;
            report(&store, &store.fetch(&pip)?, out)
        }
        RomsCommand::Import { source } => report(&store, &store.import(&source)?, out),
        RomsCommand::List { json } => list(&store, json, out),
    }
}

fn report(store: &RomStore, imported: &Imported, out: &mut impl Write) -> Result<()> {
    let Imported { written, already_present, .. } = imported;
    let (listed, directory) = (store.manifest().len(), store.directory().display());
    let present = store.list()?.iter().filter(|(_, state)| *state == RomState::Present).count();
    writeln!(
        out,
        "{} new, {already_present} already present; {directory} has {present} of {listed} ROMs",
        written.len()
    )?;
    Ok(())
}

fn list(store: &RomStore, json: bool, out: &mut impl Write) -> Result<()> {
    let states = store.list()?;
    if json {
        let roms: Vec<Value> = states.iter().map(|(id, state)| row(store.manifest(), id, state)).collect();
        let list = json!({ "directory": store.directory().to_string_lossy(), "roms": roms });
        writeln!(out, "{}", serde_json::to_string_pretty(&list)?)?;
        return Ok(());
    }
    let width = states.iter().map(|(id, _)| id.len()).max().unwrap_or(0);
    for (id, state) in &states {
        let detail = match state {
            RomState::Damaged { found } => {
                format!("  (MD5 {found}, expected {})", store.manifest().entry(id)?.md5)
            }
            RomState::Present | RomState::Missing => String::new(),
        };
        writeln!(out, "{id:width$}  {}{detail}", word(state))?;
    }
    let count = |wanted: &str| states.iter().filter(|(_, state)| word(state) == wanted).count();
    let (present, missing, damaged) = (count("present"), count("missing"), count("damaged"));
    let directory = store.directory().display();
    writeln!(out, "{present} present, {missing} missing, {damaged} damaged in {directory}")?;
    Ok(())
}

fn row(manifest: &Manifest, id: &str, state: &RomState) -> Value {
    let expected = manifest.entry(id).ok().map(|entry| entry.md5.to_string());
    let actual = match state {
        RomState::Present => expected.clone(),
        RomState::Missing => None,
        RomState::Damaged { found } => Some(Md5Sum::to_string(found)),
    };
    json!({ "id": id, "state": word(state), "md5": expected, "found_md5": actual })
}

fn word(state: &RomState) -> &'static str {
    match state {
        RomState::Present => "present",
        RomState::Missing => "missing",
        RomState::Damaged { .. } => "damaged",
    }
}
