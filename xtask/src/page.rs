//! `page`: checks the lab's page in Chromium, rendered from committed and made-up results: in two
//! widths and both colour schemes, collapsed and expanded, with and without scripts. Findings are
//! errors; pictures of everything that was checked are kept below the target folder.

mod pages;
mod view;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};

pub use self::pages::draw_run;
pub use self::view::FONTS;

use self::pages::Drawn;
use self::view::{Scheme, View};
use crate::command::run as run_command;
use crate::{npm, workspace};

/// Which pages to look at.
#[derive(clap::Args, Default)]
pub struct Options {
    /// Look at the pages whose names hold this text alone.
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Draw the picture of README.md anew, from committed results, instead.
    #[arg(long)]
    redraw: bool,
}

/// Widths of a desktop's window and of a phone's, pixels.
const DESKTOP: u32 = 1280;
const PHONE: u32 = 390;

/// Maximum height on a desktop before anything is expanded, pixels.
const HEIGHT_MAX: u64 = 12_000;

/// Chromium takes no screenshot that is much taller.
const PICTURE_HEIGHT_MAX: u64 = 16_000;

/// Maximum size of a page, bytes.
const BYTES_MAX: u64 = 2_000_000;

/// The picture in README.md, the run that it shows, and its window.
const PICTURE: &str = "docs/images/report.png";
const PICTURE_OF: &str = "speed";
const PICTURE_WIDTH: u32 = 1360;

/// The lower end of the picture: after the bars.
const PICTURE_END: &str = "Math.ceil(document.querySelector('.ranking').getBoundingClientRect()\
                           .bottom + scrollY) + 24";

/// The folder whose lock file has axe-core, which checks accessibility.
const PROGRAMS: &str = "xtask/page";

/// Renders and checks the pages.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let folder = workspace::target_folder()?.join("page");
    let drawn = pages::draw(&folder, |name| match &options.name {
        _ if options.redraw => name == PICTURE_OF,
        Some(text) => name.contains(text),
        None => true,
    })?;
    ensure!(!drawn.is_empty(), "no page has such a name");
    let looks = looks(&folder)?;
    let mut view = View::open(&folder)?;
    if options.redraw {
        view.show(&drawn[0].file_name(), (PICTURE_WIDTH, 900), Scheme::Light)?;
        let height = view.number(PICTURE_END)?;
        return view.picture(Path::new(PICTURE), (PICTURE_WIDTH, height));
    }
    let pictures = folder.join("pictures");
    fs::create_dir_all(&pictures)?;
    let mut look = Look {
        view,
        looks,
        pictures,
        findings: Vec::new(),
    };
    for page in &drawn {
        look.at(page)?;
    }
    println!("pictures are in {}", look.pictures.display());
    match look.findings.as_slice() {
        [] => Ok(()),
        findings => bail!("what a reader would see go wrong:\n{}", findings.join("\n")),
    }
}

/// The script that checks a page, with axe-core before it.
fn looks(folder: &Path) -> anyhow::Result<String> {
    let programs = folder.join("programs");
    fs::create_dir_all(&programs)?;
    for file in ["package.json", "package-lock.json"] {
        fs::copy(Path::new(PROGRAMS).join(file), programs.join(file))?;
    }
    let axe = programs.join("node_modules/axe-core");
    let is_wanted = || {
        let installed = fs::read_to_string(axe.join("package.json")).ok()?;
        let wanted = fs::read_to_string(programs.join("package.json")).ok()?;
        let of = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
        let wanted = of(&wanted)?["devDependencies"]["axe-core"].take();
        Some(of(&installed)?["version"] == wanted)
    };
    if is_wanted() != Some(true) {
        run_command(&mut npm::command("ci", &programs)).context("axe-core cannot be had")?;
    }
    let axe = fs::read_to_string(axe.join("axe.min.js")).context("axe-core has no axe.min.js")?;
    let own = fs::read_to_string(Path::new(PROGRAMS).join("look.js"))?;
    Ok(format!("{axe};\n{own}"))
}

/// The findings so far.
struct Look {
    view: View,
    looks: String,
    pictures: PathBuf,
    findings: Vec<String>,
}

impl Look {
    /// Checks one page in each variant.
    fn at(&mut self, page: &Drawn) -> anyhow::Result<()> {
        let bytes = fs::metadata(&page.path)?.len();
        if bytes > BYTES_MAX {
            self.found(&page.name, &format!("{bytes} bytes, at most {BYTES_MAX}"));
        }
        let mut said = format!("{}: {} kB", page.name, bytes / 1000);
        for (width, kind) in [(DESKTOP, "desktop"), (PHONE, "phone")] {
            for scheme in [Scheme::Light, Scheme::Dark] {
                let place = format!("{}-{kind}-{}", page.name, scheme.name());
                self.view.show(&page.file_name(), (width, 900), scheme)?;
                self.view.evaluate(&self.looks)?;
                let height = self.view.number("document.documentElement.scrollHeight")?;
                said += &format!(", {kind} {} {height} px", scheme.name());
                if width == DESKTOP && height > HEIGHT_MAX {
                    self.found(&place, &format!("{height} px tall, at most {HEIGHT_MAX}"));
                }
                let picture = self.pictures.join(format!("{place}.png"));
                let size = (width, height.min(PICTURE_HEIGHT_MAX));
                self.view.picture(&picture, size)?;
                self.ask_all(&place, width, scheme)?;
            }
        }
        self.choose(page)?;
        println!("{said}");
        Ok(())
    }

    /// Checks the displayed page, and again when it is expanded. Layout and accessible names are
    /// the same in both schemes, so in the dark one only colours are checked.
    fn ask_all(&mut self, place: &str, width: u32, scheme: Scheme) -> anyhow::Result<()> {
        let unfolded = format!("{place}, unfolded");
        match scheme {
            Scheme::Light => {
                self.ask(place, "everything()")?;
                self.ask(place, "accessibility()")?;
                self.view.evaluate("unfold()")?;
                self.ask(&unfolded, "everything()")?;
            }
            Scheme::Dark => {
                self.ask(place, "contrast()")?;
                self.view.evaluate("unfold()")?;
            }
        }
        // On a phone the same parts have the same colours.
        match (width, scheme) {
            (DESKTOP, Scheme::Light) => self.ask(&unfolded, "accessibility()"),
            (DESKTOP, Scheme::Dark) => self.ask(&unfolded, "contrast()"),
            _ => Ok(()),
        }
    }

    /// Ranks and hides engines with the keyboard, and checks without scripts.
    fn choose(&mut self, page: &Drawn) -> anyhow::Result<()> {
        let window = (DESKTOP, 900);
        self.view.set_scripts(false)?;
        self.view.show(&page.file_name(), window, Scheme::Light)?;
        self.view.evaluate(&self.looks)?;
        self.ask(&page.name, "withoutScripts()")?;
        self.view.set_scripts(true)?;
        self.view.show(&page.file_name(), window, Scheme::Light)?;
        self.view.evaluate(&self.looks)?;
        self.view.evaluate("unfold()")?;
        if self.view.evaluate("ranking() !== null")? == true {
            self.ask(&page.name, "focusChip()")?;
            self.view.press_space()?;
            self.ask(&page.name, "chipIsOff()")?;
            self.view.press_space()?;
            self.ask(&page.name, "metrics()")?;
        }
        self.view.show(&page.file_name(), window, Scheme::Light)?;
        self.view.evaluate(&self.looks)?;
        self.ask(&page.name, "linksUnfold()")
    }

    /// Collects the findings of a function of the script.
    fn ask(&mut self, place: &str, function: &str) -> anyhow::Result<()> {
        for finding in self.view.texts(function)? {
            self.found(place, &finding);
        }
        Ok(())
    }

    fn found(&mut self, place: &str, finding: &str) {
        self.findings.push(format!("{place}: {finding}"));
    }
}
