//! `page`: checks the lab's page in Chromium, rendered from committed and made-up results: in two
//! widths and both colour schemes, collapsed and expanded, with and without scripts. Findings are
//! errors; pictures of everything that was checked are kept below the target folder.

mod pages;
mod view;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use anyhow::{Context, anyhow, bail, ensure};

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
    /// Check accessibility and colours in one width each and take no pictures, as `cargo xtask
    /// test` does.
    #[arg(long)]
    short: bool,
    /// Draw the pictures of README.md anew, from committed results, instead.
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

/// The width of the pictures in README.md.
const PICTURE_WIDTH: u32 = 1360;

/// A picture in README.md.
struct Picture {
    path: &'static str,
    /// The run that it shows.
    run: &'static str,
    /// What it ends with: the first such element of the page.
    last: &'static str,
}

const PICTURES: [Picture; 2] = [
    Picture {
        path: "docs/images/report.png",
        run: "speed",
        last: ".ranking",
    },
    Picture {
        path: "docs/images/tpcc.png",
        run: "tpcc",
        last: ".tiles",
    },
];

/// The folder whose lock file has axe-core, which checks accessibility.
const PROGRAMS: &str = "xtask/page";

/// Runs the part that belongs to `cargo xtask test`.
pub fn run_slice() -> anyhow::Result<()> {
    run(&Options {
        short: true,
        ..Options::default()
    })
}

/// Renders and checks the pages.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let folder = workspace::target_folder()?.join("page");
    let drawn = pages::draw(&folder, |name| match &options.name {
        _ if options.redraw => PICTURES.iter().any(|picture| name == picture.run),
        Some(text) => name.contains(text),
        None => true,
    })?;
    ensure!(!drawn.is_empty(), "no page has such a name");
    if options.redraw {
        return redraw(&mut View::open(&folder)?, &drawn);
    }
    let looks = looks(&folder)?;
    let pictures = folder.join("pictures");
    fs::create_dir_all(&pictures)?;
    let findings = look_at_all(&drawn, || {
        Ok(Look {
            view: View::open(&folder)?,
            looks: &looks,
            pictures: (!options.short).then_some(&*pictures),
            findings: Vec::new(),
        })
    })?;
    if !options.short {
        println!("pictures are in {}", pictures.display());
    }
    match findings.as_slice() {
        [] => Ok(()),
        findings => bail!("what a reader would see go wrong:\n{}", findings.join("\n")),
    }
}

/// Draws the pictures of README.md.
fn redraw(view: &mut View, drawn: &[Drawn]) -> anyhow::Result<()> {
    for picture in PICTURES {
        let page = drawn.iter().find(|page| page.name == picture.run);
        let page = page.with_context(|| format!("docs/results has no {}", picture.run))?;
        view.show(&page.file_name(), (PICTURE_WIDTH, 900), Scheme::Light)?;
        let end = format!(
            "Math.ceil(document.querySelector('{}').getBoundingClientRect().bottom + scrollY) + 24",
            picture.last
        );
        let height = view.number(&end)?;
        view.picture(Path::new(picture.path), (PICTURE_WIDTH, height))?;
    }
    Ok(())
}

/// Checks all pages, with as many browsers as there are processors; returns the findings.
fn look_at_all<'a>(
    drawn: &[Drawn],
    open: impl Fn() -> anyhow::Result<Look<'a>> + Sync,
) -> anyhow::Result<Vec<String>> {
    let next = AtomicUsize::new(0);
    let work = || -> anyhow::Result<Vec<String>> {
        let mut look = open()?;
        while let Some(page) = drawn.get(next.fetch_add(1, Ordering::Relaxed)) {
            look.at(page)?;
        }
        Ok(look.findings)
    };
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let mut findings = Vec::new();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..processors.min(drawn.len()))
            .map(|_| scope.spawn(work))
            .collect();
        for worker in workers {
            let found = worker.join();
            findings.extend(found.map_err(|_| anyhow!("a thread of the check panicked"))??);
        }
        Ok(findings)
    })
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

/// A browser, and the findings so far.
struct Look<'a> {
    view: View,
    /// The script that checks a page.
    looks: &'a str,
    /// The folder of screenshots. None: a short check, which takes none.
    pictures: Option<&'a Path>,
    findings: Vec<String>,
}

impl Look<'_> {
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
                self.view.evaluate(self.looks)?;
                let height = self.view.number("document.documentElement.scrollHeight")?;
                said += &format!(", {kind} {} {height} px", scheme.name());
                if width == DESKTOP && height > HEIGHT_MAX {
                    self.found(&place, &format!("{height} px tall, at most {HEIGHT_MAX}"));
                }
                if let Some(pictures) = self.pictures {
                    let picture = pictures.join(format!("{place}.png"));
                    let size = (width, height.min(PICTURE_HEIGHT_MAX));
                    self.view.picture(&picture, size)?;
                }
                self.ask_all(&place, width, scheme)?;
            }
        }
        self.choose(page)?;
        println!("{said}");
        Ok(())
    }

    /// Checks the displayed page, and again when it is expanded. Layout and accessible names are
    /// the same in both schemes, so in the dark one only colours are checked. axe-core takes most
    /// of the time: it checks a phone's page as it opens, and a desktop's expanded. In a short
    /// check it checks accessibility in the first and colours in the second alone.
    fn ask_all(&mut self, place: &str, width: u32, scheme: Scheme) -> anyhow::Result<()> {
        let unfolded = format!("{place}, unfolded");
        let has_layout = scheme == Scheme::Light;
        let (axe, short_width) = match scheme {
            Scheme::Light => ("accessibility()", PHONE),
            Scheme::Dark => ("contrast()", DESKTOP),
        };
        let has_axe = self.pictures.is_some() || width == short_width;
        if has_layout {
            self.ask(place, "everything()")?;
        }
        if has_axe && width == PHONE {
            self.ask(place, axe)?;
        }
        self.view.evaluate("unfold()")?;
        if has_layout {
            self.ask(&unfolded, "everything()")?;
        }
        if has_axe && width == DESKTOP {
            self.ask(&unfolded, axe)?;
        }
        Ok(())
    }

    /// Ranks and hides engines with the keyboard, and checks without scripts.
    fn choose(&mut self, page: &Drawn) -> anyhow::Result<()> {
        let window = (DESKTOP, 900);
        self.view.set_scripts(false)?;
        self.view.show(&page.file_name(), window, Scheme::Light)?;
        self.view.evaluate(self.looks)?;
        self.ask(&page.name, "withoutScripts()")?;
        self.view.set_scripts(true)?;
        self.view.show(&page.file_name(), window, Scheme::Light)?;
        self.view.evaluate(self.looks)?;
        self.view.evaluate("unfold()")?;
        if self.view.evaluate("ranking() !== null")? == true {
            self.ask(&page.name, "focusChip()")?;
            self.view.press_space()?;
            self.ask(&page.name, "chipIsOff()")?;
            self.view.press_space()?;
            self.ask(&page.name, "metrics()")?;
        }
        self.view.show(&page.file_name(), window, Scheme::Light)?;
        self.view.evaluate(self.looks)?;
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
