//! Has the linker export the SQLite functions that JavaScript calls directly, and reserve enough
//! stack for SQLite's parser and for what `crypto` wipes.

const FUNCTIONS: &[&str] = &[
    "sqlite3_bind_blob64",
    "sqlite3_bind_double",
    "sqlite3_bind_int64",
    "sqlite3_bind_null",
    "sqlite3_bind_text64",
    "sqlite3_changes64",
    "sqlite3_column_blob",
    "sqlite3_column_bytes",
    "sqlite3_column_count",
    "sqlite3_column_double",
    "sqlite3_column_int64",
    "sqlite3_column_name",
    "sqlite3_column_text",
    "sqlite3_column_type",
    "sqlite3_errmsg",
    "sqlite3_extended_errcode",
    "sqlite3_finalize",
    "sqlite3_get_autocommit",
    "sqlite3_last_insert_rowid",
    "sqlite3_prepare_v3",
    "sqlite3_reset",
    "sqlite3_step",
    "sqlite3_total_changes64",
];

const STACK_SIZE: u32 = 1024 * 1024;

fn main() {
    if std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() != Ok("wasm32") {
        return;
    }
    for function in FUNCTIONS {
        println!("cargo::rustc-link-arg-cdylib=--export={function}");
    }
    println!("cargo::rustc-link-arg-cdylib=-zstack-size={STACK_SIZE}");
}
