/// Why a request to a bucket could not be done. Nothing was changed by it, unless the kind says so.
package struct ObjectStoreError: Error, Equatable, CustomStringConvertible {
    package enum Kind: Sendable {
        /// The address, the key or the endpoint cannot be used as it is written.
        case invalidAddress
        case noCredentials
        case noLibrary
        /// No connection, or it was cut. A put was not begun: where one was, its outcome is unknown and no error.
        case notReachable
        /// The server answers that it cannot now: 5xx, 429 or 409, in every attempt.
        case unavailable
        case denied
        case noBucket
        /// The credentials were refused as expired or unknown, also after they were read again.
        case expiredCredentials
        /// The server refuses the time of our signatures, and its own clock did not help.
        case clockSkewed
        /// The bucket is at another endpoint or in another region. Redirects are not followed.
        case redirected
        case tooLarge
        case badAnswer
        case stopped
    }

    package let kind: Kind
    /// What was asked, of which bucket or key, what came, and what to do.
    package let description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    /// Whether the same request may succeed later, with nothing changed by anyone who runs this.
    package var isTransient: Bool {
        switch kind {
        case .notReachable, .unavailable: true
        default: false
        }
    }
}

package enum ObjectText {
    /// In one line, without control characters, and of at most 200 characters.
    package static func line(_ text: String) -> String {
        var out = ""
        for (index, scalar) in text.unicodeScalars.enumerated() {
            if index == 200 { return out + "…" }
            let isControl =
                scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
                || (0x2028...0x202E).contains(scalar.value)
            out.unicodeScalars.append(isControl ? "·" : scalar)
        }
        return out
    }
}
