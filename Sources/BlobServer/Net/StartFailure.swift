/// Why a daemon cannot start, for the operator.
package struct StartFailure: Error, CustomStringConvertible {
    package let description: String
}
