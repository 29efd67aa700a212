/// What `GET /v1/openapi.json` answers: `docs/openapi.json`, with the version and the limits of this
/// daemon.
enum OpenAPIDocument {
    /// Appends the document. Costs a copy of its text, about 100 KiB.
    static func append(_ limits: DaemonLimits, to out: inout [UInt8]) {
        out +=
            OpenAPIText.text(
                version: blobdVersion, ttlSecondsMax: limits.ttlSecondsMax,
                payloadByteCountMax: limits.payloadByteCountMax
            ).utf8
    }
}
