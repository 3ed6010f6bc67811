//! How the library is linked.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let system = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if system == "linux" {
        // Its threads run on where a program unloads it: it stays.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
        // What links to it finds it by this name, not by the path of the build.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libstrongroom_client.so");
    }
}
