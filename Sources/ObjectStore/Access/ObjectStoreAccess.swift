/// How to reach the server: from the variables that every SDK reads.
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
        guard
            self.region.utf8.allSatisfy({
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || $0 == UInt8(ascii: "-")
                    || $0 == UInt8(ascii: "_")
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
            }), self.region.utf8.count <= 64
        else {
            throw ObjectStoreError(
                .invalidAddress,
                "\(region?.name ?? "AWS_REGION") is \"\(ObjectText.line(self.region))\": a region has lower-case letters, digits and hyphens"
            )
        }
        let address = environment.first("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")?.value
        endpoint = try Endpoint(address ?? "https://s3.\(self.region).amazonaws.com")
        certificatesPath = environment["AWS_CA_BUNDLE"]
        credentials = try CredentialsProvider(environment)
    }
}
