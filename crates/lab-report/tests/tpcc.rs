//! Reports on workload `tpcc`.

mod common;

use lab::comparison::compare;
use lab_report::{export, finding, terminal};

#[test]
fn losses_are_shown_beside_published_ones() {
    let results = common::tpcc(10);
    let comparison = compare(&results);
    let run = |engine: &str, test: usize| {
        let cell = &comparison.engine(engine).unwrap().cells[test];
        cell.tpcc.clone().unwrap().run
    };
    assert_eq!(run("postgres", 0), None);
    let [plain, all] = ["postgres", "proxy-100"].map(|name| run(name, 1).unwrap());
    assert!(plain.throughput > all.throughput && all.throughput > 0.7 * plain.throughput);
    assert_eq!((plain.proxy_cpu_s, plain.throughputs.len()), (None, 10));
    // 30 s of server and proxy together, 9 s of the proxy.
    let parts = all.server_cpu_s.unwrap() / all.proxy_cpu_s.unwrap();
    assert!((parts - 21.0 / 9.0).abs() < 1e-6, "{parts}");
    let table = terminal::table(&comparison, 100);
    let row = |name: &str| {
        let of_name = |line: &&str| line.trim_start().starts_with(name);
        table.lines().find(of_name).unwrap().to_owned()
    };
    assert!(row("proxy-100").contains("22.6 %"), "{table}");
    assert!(row("proxy-100").contains("41 + 2"), "{table}");
    assert!(table.contains("kept plain text"), "{table}");
    let sentence = finding::sentence(&comparison);
    assert!(sentence.starts_with("proxy-100 lost 1"), "{sentence}");
    let headline = finding::headline(&comparison);
    assert!(headline.ends_with("% fewer transactions"), "{headline}");
    let page = common::page(&results);
    for words in ["Terminals at work", "New-Order", "22.6 %", "3.3.2.12"] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn markdown_shows_rates_and_costs() {
    let text = export::markdown(&compare(&common::tpcc(10)));
    let rows: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("| proxy-100 "))
        .collect();
    // Both numbers of terminals, each of them, and the tables.
    let [rates, eight, _, filled] = rows.as_slice() else {
        panic!("{text}");
    };
    assert!(rates.contains(" %"), "{rates}");
    assert!(
        eight.contains("22.6 %") && eight.contains("41 + 2"),
        "{eight}"
    );
    assert!(filled.contains('×'), "{filled}");
    assert!(!text.contains("wall time"), "{text}");
}

/// The tables are filled once, and the time for that is not part of the terminals' results.
#[test]
fn the_mean_is_that_of_terminals() {
    let mut results = common::tpcc(10);
    let before = compare(&results);
    for pass in &mut results.passes {
        if pass.engine == "proxy" {
            pass.tests[0].sample.wall_ns *= 100;
        }
    }
    let mean =
        |comparison: &lab::comparison::Comparison| comparison.engine("proxy").unwrap().wall_mean;
    assert_eq!(mean(&before), mean(&compare(&results)));
    assert!(mean(&before).unwrap().value < 1.2);
}

#[test]
fn inconsistent_tables_are_shouted() {
    let mut results = common::tpcc(10);
    for pass in &mut results.passes {
        if pass.engine == "proxy-100" {
            pass.tests[1].contradiction = Some("consistency condition 1 does not hold".into());
        }
    }
    let comparison = compare(&results);
    let table = terminal::table(&comparison, 100);
    assert!(
        table.contains("WRONG") && table.contains("condition 1"),
        "{table}"
    );
    assert!(finding::sentence(&comparison).contains("inconsistent tables"));
    assert!(common::page(&results).contains("condition 1"));
}

/// In-process engines are compared with those behind the proxy, so all of them have cards.
#[test]
fn engines_in_process_have_cards_beside_the_proxies() {
    let mut results = common::tpcc(2);
    let more = [
        "proxy-20",
        "proxy-50",
        "proxy-20-sensitive",
        "in-process",
        "in-process-100",
    ];
    for name in more {
        let mut profile = results.header.engines[1].clone();
        profile.name = name.into();
        results.header.engines.push(profile);
        let of_proxy = results.passes.iter().filter(|pass| pass.engine == "proxy");
        let mut passes: Vec<_> = of_proxy.cloned().collect();
        passes.iter_mut().for_each(|pass| pass.engine = name.into());
        results.passes.extend(passes);
    }
    let page = common::page(&results);
    let card = |name: &str| {
        page.lines()
            .any(|line| line.contains("class=\"tile ") && line.contains(&format!("\"{name}\"")))
    };
    for name in more.into_iter().chain(["proxy", "proxy-100"]) {
        assert!(card(name), "{name}");
    }
    assert!(!card("postgres"));
}
