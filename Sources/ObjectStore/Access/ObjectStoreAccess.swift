import Glibc

package struct ObjectStoreAccess: Sendable {
    package let endpoint: Endpoint
    package let region: String
    package let credentials: CredentialsProvider
    /// A file of certificates instead of the system's.
    let certificatesPath: String?

    /// `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL`, else AWS in the region; `AWS_REGION` or `AWS_DEFAULT_REGION`, else
    /// us-east-1; `AWS_CA_BUNDLE`; the credentials as ``CredentialsProvider`` says.
    package init(_ environment: ProcessEnvironment) throws(ObjectStoreError) {
        let region = environment.first("AWS_REGION", "AWS_DEFAULT_REGION")
        self.region = region?.value ?? "us-east-1"
        // It stands in the host's name and in the signature.
        let letters = "abcdefghijklmnopqrstuvwxyz0123456789-_"
        guard self.region.utf8.allSatisfy({ letters.utf8.contains($0) }),
            self.region.utf8.count <= 64
        else {
            throw ObjectStoreError(
                .invalidAddress,
                "\(region?.name ?? "AWS_REGION") is \"\(ObjectText.line(self.region))\": a region consists of lower-case letters, digits and hyphens"
            )
        }
        let address = environment.first("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")?.value
        endpoint = try Endpoint(address ?? "https://s3.\(self.region).amazonaws.com")
        certificatesPath = environment["AWS_CA_BUNDLE"]
        credentials = try CredentialsProvider(environment)
    }
}

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
