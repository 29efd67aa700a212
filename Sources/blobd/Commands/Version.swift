/// The version of this program.
let blobdVersion = "0.1.0"
