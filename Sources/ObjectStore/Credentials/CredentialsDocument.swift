import BlobJSON
import Bytes

/// Credentials as sources write them. What they wrote is never repeated in an error: it may be a secret.
enum CredentialsDocument {
    /// - Parameter place: who wrote it, for errors.
    static func parse(
        _ bytes: [UInt8], of place: String
    ) throws(ObjectStoreError) -> JSONValue {
        do throws(JSONError) { return try JSONValue.parse(bytes.span.bytes) } catch {
            throw .noCredentials("\(place): what it gives is not JSON (at byte \(error.offset))")
        }
    }

    /// Reads an object with `AccessKeyId`, `SecretAccessKey` and `Expiration`.
    ///
    /// - Parameters:
    ///   - source: what the credentials are called.
    ///   - token: the name of the member that has the session's token.
    static func credentials(
        of source: String, at place: String, _ document: JSONValue, token: String
    ) throws(ObjectStoreError) -> Credentials {
        // Instance metadata says so with status 200.
        if let code = text("Code", in: document), code != "Success" {
            throw .noCredentials("\(place): \(failure(document) ?? code)")
        }
        return try credentials(
            of: source, at: place, accessKeyID: text("AccessKeyId", in: document),
            secretAccessKey: text("SecretAccessKey", in: document),
            sessionToken: text(token, in: document), expiration: text("Expiration", in: document))
    }

    static func credentials(
        of source: String, at place: String, accessKeyID: String?, secretAccessKey: String?,
        sessionToken: String?, expiration: String?
    ) throws(ObjectStoreError) -> Credentials {
        guard let accessKeyID, !accessKeyID.isEmpty, let secretAccessKey, !secretAccessKey.isEmpty
        else { throw .noCredentials("\(place): its answer lacks AccessKeyId or SecretAccessKey") }
        var milliseconds: Int64?
        if let expiration {
            guard let time = RFC3339.milliseconds(expiration.utf8.span.bytes) else {
                throw .noCredentials("\(place): its Expiration is no time of RFC 3339")
            }
            milliseconds = min(max(time, 0), RFC3339.millisecondsMax)
        }
        return Credentials(
            accessKeyID: accessKeyID, secretAccessKey: secretAccessKey,
            sessionToken: sessionToken.flatMap { $0.isEmpty ? nil : $0 },
            expiration: milliseconds, source: source)
    }

    /// The words of an answer that is an error: its code and its message, however they are written.
    static func failure(_ document: JSONValue) -> String? {
        guard let code = text("Code", in: document) ?? text("code", in: document) else {
            return nil
        }
        let message = text("Message", in: document) ?? text("message", in: document)
        return ObjectText.line(code) + (message.map { " (\(ObjectText.line($0)))" } ?? "")
    }

    private static func text(_ name: String, in document: JSONValue) -> String? {
        guard case .string(let text)? = document[name] else { return nil }
        return text
    }
}
