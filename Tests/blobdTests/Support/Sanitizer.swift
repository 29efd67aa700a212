import Glibc

/// Whether this run is under a sanitizer (`Scripts/test --sanitize`), whose shadow memory makes the
/// daemon's own size unknowable.
let hasSanitizer = getenv("TEST_SANITIZER") != nil
