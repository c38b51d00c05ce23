//! `include/dovetail.h` is what the sources say.

use std::path::Path;

#[test]
fn the_header_is_up_to_date() {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(crate_folder.join("cbindgen.toml")).unwrap();
    let sources = ["src/types.rs", "src/lib.rs"].map(|source| crate_folder.join(source));
    let builder = sources.into_iter().fold(cbindgen::Builder::new(), cbindgen::Builder::with_src);
    let mut made = Vec::new();
    builder.with_config(config).generate().unwrap().write(&mut made);
    let made = String::from_utf8(made).unwrap();
    let path = crate_folder.join("include/dovetail.h");
    if std::env::var_os("DOVETAIL_WRITE").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == made, "not up to date: DOVETAIL_WRITE=1 cargo test -p dovetail-c --test header");
}

#[test]
fn pkg_config_says_the_version() {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("dovetail.pc.in")).unwrap();
    assert!(text.contains(concat!("\nVersion: ", env!("CARGO_PKG_VERSION"), "\n")), "{text}");
}
