import Glibc

/// Variables of the environment. Tests have others than the process.
package struct ProcessEnvironment: Sendable {
    private let variables: [String: String]?

    package static let process = ProcessEnvironment(variables: nil)

    package init(_ variables: [String: String]) { self.init(variables: variables) }

    private init(variables: [String: String]?) { self.variables = variables }

    /// A variable's value; nil also where it is empty.
    package subscript(name: String) -> String? {
        // `getenv` points into the environment; the text is copied at once.
        let value = variables.map { $0[name] } ?? getenv(name).map { String(cString: $0) }
        return value.flatMap { $0.isEmpty ? nil : $0 }
    }

    func first(_ names: String...) -> (name: String, value: String)? {
        for name in names {
            if let value = self[name] { return (name, value) }
        }
        return nil
    }
}
