package struct ObjectStoreAccess: Sendable {
    package let endpoint: Endpoint
    package let region: String
    package let credentials: CredentialsProvider
    /// A file of certificates instead of the system's.
    let certificatesPath: String?

    /// `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL`, else AWS in the region; `AWS_REGION` or `AWS_DEFAULT_REGION`, else
    /// us-east-1; `AWS_CA_BUNDLE`; the credentials as ``CredentialsProvider`` says.
    package init(
        _ environment: ProcessEnvironment, limits: ObjectStoreLimits = ObjectStoreLimits(),
        clock: CredentialsClock = CredentialsClock(),
        onRenewalFailure: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(ObjectStoreError) {
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
        let address = environment.first("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
        endpoint = try Endpoint(
            address?.value ?? "https://s3.\(self.region).amazonaws.com",
            of: address?.name ?? "AWS_ENDPOINT_URL")
        certificatesPath = environment["AWS_CA_BUNDLE"]
        credentials = try CredentialsProvider(
            try CredentialSources.find(environment, region: self.region),
            certificatesPath: certificatesPath, limits: limits, clock: clock,
            onRenewalFailure: onRenewalFailure)
    }
}
