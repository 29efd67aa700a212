/// The version of this program.
package let blobdVersion = "0.1.0"
