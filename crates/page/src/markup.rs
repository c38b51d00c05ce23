//! The elements of a page.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::{Cell, Chapter, Fact, Form, GENERATOR, Kind, Page, Picture, PictureError, Section, Table};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What the browser lets the page do: nothing is loaded, and only [`SCRIPT`], known by its hash, runs.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; \
                      script-src 'sha256-UArDdiRXXqBgmL4B/cqJzD7yTbxO4aL2wM9CUExWxjI=';";

pub fn page(page: &Page) -> Result<String, PictureError> {
    let pictures = page.pictures.iter().map(|picture| self::picture(picture, html! { h2 { (picture.heading) } }));
    let pictures = pictures.collect::<Result<Vec<Markup>, _>>()?;
    let chapters = page.chapters.iter().map(chapter).collect::<Result<Vec<Markup>, _>>()?;
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ (GENERATOR) " " (page.version) };
                title { (page.title) }
                style {
                    (PreEscaped(STYLE))
                    "@media (prefers-color-scheme: dark) {" (PreEscaped(page.dark_pictures)) "}"
                }
            }
            body {
                main {
                    h1 { (page.title) }
                    (decision(page))
                    (picker(page))
                    @for table in &page.tables { (self::table(table)) }
                    (words(page))
                    (contents(page))
                    @for picture in &pictures { (picture) }
                    @for chapter in &chapters { (chapter) }
                }
                (made(page))
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    Ok(markup.into_string())
}

/// A picture below its heading.
fn picture(picture: &Picture, heading: Markup) -> Result<Markup, PictureError> {
    let element = PreEscaped(picture.element()?);
    Ok(html! {
        figure {
            figcaption { (heading) p { (picture.explanation) } }
            (scrolled(&picture.heading, element))
        }
    })
}

/// Where the sections are.
fn contents(page: &Page) -> Markup {
    html! {
        @if !page.chapters.is_empty() {
            nav.contents aria-label="Contents" {
                @for chapter in &page.chapters {
                    p {
                        (chapter.heading)
                        @for section in &chapter.sections { " " a href={ "#" (section.id) } { (section.name) } }
                    }
                }
            }
        }
    }
}

fn chapter(chapter: &Chapter) -> Result<Markup, PictureError> {
    let sections = chapter.sections.iter().map(section).collect::<Result<Vec<Markup>, _>>()?;
    Ok(html! { section { h2 { (chapter.heading) } @for section in &sections { (section) } } })
}

fn section(section: &Section) -> Result<Markup, PictureError> {
    let pictures = section.pictures.iter().map(|picture| self::picture(picture, html! {}));
    let pictures = pictures.collect::<Result<Vec<Markup>, _>>()?;
    Ok(html! {
        section.figure id=(section.id) {
            h3 { (section.heading) }
            p { (unbroken(&section.sentence)) }
            @for picture in &pictures { (picture) }
            (table(&section.table))
            @if !section.notes.is_empty() {
                ul { @for note in &section.notes { li { (unbroken(note)) } } }
            }
        }
    })
}

fn decision(page: &Page) -> Markup {
    html! {
        @if !page.sentences.is_empty() {
            section.decision aria-label="What it comes to" {
                ul { @for sentence in &page.sentences { li { (unbroken(sentence)) } } }
            }
        }
        @if let Some(lines) = &page.lines {
            div.lines { p { (lines.heading) } pre tabindex="0" { (lines.text) } }
        }
        @if !page.notes.is_empty() {
            ul.notes aria-label="Notes" { @for note in &page.notes { li { (unbroken(note)) } } }
        }
    }
}

/// The text with numbers, how far off they may be, and their units on one line.
fn unbroken(text: &str) -> String {
    const UNITS: [&str; 9] = ["%", "s", "ms", "us", "ns", "bps", "kbps", "Mbps", "Gbps"];
    let is_unit = |word: &str| UNITS.contains(&word.trim_end_matches([',', '.', ';', ':', ')']));
    let mut words = text.split(' ');
    let mut out = words.next().unwrap_or_default().to_string();
    for word in words {
        let beside = word == "±" || out.ends_with('±');
        let joined = beside || is_unit(word) && out.ends_with(|c: char| c.is_ascii_digit());
        out.push(if joined { '\u{a0}' } else { ' ' });
        out.push_str(word);
    }
    out
}

/// Buttons that the script brings to life; without it they are not shown.
fn picker(page: &Page) -> Markup {
    let of = |kind: Kind| page.names.iter().filter(move |name| name.kind == kind);
    html! {
        @if !page.names.is_empty() {
            nav.picker hidden aria-label="Show one alone in tables and pictures" {
                p { "Point at a name to see only that one; press it to keep it:" }
                @for (kind, label) in [(Kind::Scheduler, "Scheduler"), (Kind::Group, "Group"), (Kind::Flow, "Flow")] {
                    @if of(kind).next().is_some() {
                        div role="group" aria-label=(label) {
                            span aria-hidden="true" { (label) }
                            @for name in of(kind) { (button(kind, &name.name)) }
                        }
                    }
                }
            }
        }
    }
}

fn button(kind: Kind, name: &str) -> Markup {
    html! { button type="button" aria-pressed="false" data-kind=(kind.name()) data-name=(name) { (name) } }
}

/// What may be wider than the page, in a place of its own that keys can move.
fn scrolled(label: &str, content: Markup) -> Markup {
    html! { div.scrolled role="region" tabindex="0" aria-label=(label) { (content) } }
}

fn table(table: &Table) -> Markup {
    let content = html! {
        table {
            caption { span { (table.caption) } }
            thead {
                tr {
                    @for (k, head) in table.header.iter().enumerate() {
                        th scope="col" class=[class(table, k)] { (head) }
                    }
                }
            }
            @for block in blocks(table) {
                tbody { @for k in 0..block.len() { (row(table, block, k)) } }
            }
        }
    };
    scrolled(&table.caption, content)
}

/// Of a column: numbers stand at the right, and the last column of texts stays in sight.
fn class(table: &Table, column: usize) -> Option<&'static str> {
    match column + 1 {
        next if next == table.texts => Some("name"),
        next if next > table.texts => Some("number"),
        _ => None,
    }
}

/// Rows that share their first text, one block each; all rows are one block if no first text is shared.
fn blocks(table: &Table) -> Vec<&[Vec<Cell>]> {
    if table.texts < 2 {
        return vec![&table.rows];
    }
    table.rows.chunk_by(|_, row| row.first().is_some_and(|cell| cell.text.is_empty())).collect()
}

fn row(table: &Table, block: &[Vec<Cell>], k: usize) -> Markup {
    let name = |column: usize, kind: Kind| {
        let named = table.kinds.get(column).is_some_and(|own| *own == Some(kind));
        let text = block[..=k].iter().rev().map(|row| row[column].text.as_str()).find(|text| !text.is_empty());
        text.filter(|_| named)
    };
    let last = table.texts.checked_sub(1).map(|column| &block[k][column].text);
    let marked = last.is_some() && last == table.marked.as_ref();
    let named = |kind| (0..table.texts).find_map(|column| name(column, kind));
    let head = |column: usize| {
        let of = |kind| name(column, kind);
        let spans = column == 0 && table.texts > 1;
        html! {
            th scope=(if spans { "rowgroup" } else { "row" }) rowspan=[spans.then_some(block.len())]
                data-scheduler=[of(Kind::Scheduler)] data-group=[of(Kind::Group)] { (block[k][column].text) }
        }
    };
    html! {
        tr.marked[marked] data-scheduler=[named(Kind::Scheduler)] data-group=[named(Kind::Group)] {
            @for (column, cell) in block[k].iter().enumerate() {
                @if column < table.texts {
                    @if column > 0 || table.texts < 2 || k == 0 { (head(column)) }
                } @else {
                    td { (number(cell)) }
                }
            }
        }
    }
}

/// A number as it is shown, and in full for whoever reads the page by a program.
fn number(cell: &Cell) -> Markup {
    html! {
        @match cell.exact {
            Some(exact) => data value=(exact) { (cell.text) },
            None => (cell.text),
        }
    }
}

fn words(page: &Page) -> Markup {
    html! {
        @if !page.words.is_empty() {
            details {
                summary { "What the columns mean" }
                dl { @for (word, meaning) in &page.words { dt { (word) } dd { (meaning) } } }
            }
        }
    }
}

fn made(page: &Page) -> Markup {
    let fact = |fact: &Fact| {
        html! {
            dt { (fact.what) }
            dd {
                @match fact.form {
                    Form::Text => (fact.value),
                    Form::Code => code { (fact.value) },
                    Form::File => details { summary { "the file" } pre tabindex="0" { (fact.value) } },
                }
            }
        }
    };
    html! {
        footer {
            h2 { "How it was made" }
            dl { @for line in &page.made { (fact(line)) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Base 64 as in RFC 4648, section 4.
    fn base64(bytes: &[u8]) -> String {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let block = |three: &[u8]| {
            let bits = three.iter().enumerate().fold(0_u32, |bits, (k, byte)| bits | u32::from(*byte) << (16 - 8 * k));
            let letter = |k: usize| char::from(LETTERS[(bits >> (18 - 6 * k)) as usize & 63]);
            (0..4).map(|k| if k <= three.len() { letter(k) } else { '=' }).collect::<String>()
        };
        bytes.chunks(3).map(block).collect()
    }

    #[test]
    fn the_script_is_the_one_that_may_run() {
        assert_eq!(base64(b"Many hands"), "TWFueSBoYW5kcw==");
        let hash = base64(ring::digest::digest(&ring::digest::SHA256, SCRIPT.as_bytes()).as_ref());
        assert!(POLICY.contains(&format!("script-src 'sha256-{hash}';")), "the hash of page.js is {hash}");
    }

    #[test]
    fn numbers_keep_their_units() {
        assert_eq!(unbroken("falls to 1.7 ms. 3 flows, 5 %,"), "falls to 1.7\u{a0}ms. 3 flows, 5\u{a0}%,");
        assert_eq!(unbroken("5.1 ± 0.3 % more"), "5.1\u{a0}±\u{a0}0.3\u{a0}% more");
    }

    #[test]
    fn rows_that_share_a_text_share_its_cell() {
        let text = |text: &str| Cell { text: text.into(), exact: None };
        let row = |group: &str, scheduler: &str, number| {
            vec![text(group), text(scheduler), Cell { text: "n".into(), exact: Some(number) }]
        };
        let table = Table {
            caption: "c".into(),
            header: ["group", "scheduler", "x"].map(String::from).into(),
            texts: 2,
            kinds: vec![Some(Kind::Group), Some(Kind::Scheduler)],
            marked: Some("drr".into()),
            rows: vec![row("a", "fifo", 0.1), row("", "drr", 2.0), row("b", "fifo", 1e-9)],
        };
        let html = super::table(&table).into_string();
        let shared = "<tr class=\"marked\" data-scheduler=\"drr\" data-group=\"a\">\
                      <th scope=\"row\" data-scheduler=\"drr\">drr</th>\
                      <td><data value=\"2\">n</data></td></tr></tbody><tbody>";
        assert!(html.contains(shared), "{html}");
        assert_eq!(html.matches("marked").count(), 1, "{html}");
        assert!(html.contains("<th scope=\"rowgroup\" rowspan=\"2\" data-group=\"a\">a</th>"), "{html}");
        assert!(html.contains("<data value=\"0.000000001\">"), "{html}");
    }
}
