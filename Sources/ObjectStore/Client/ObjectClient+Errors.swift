extension ObjectClient {
    /// A refusal before anything was done, which other credentials or another clock may end.
    enum Refusal {
        case credentials
        /// The same, where the server does not say whether it is their fault.
        case denied
        case clock(seconds: Int64?)

        init?(_ answer: HTTPAnswer) {
            guard [400, 401, 403].contains(answer.status) else { return nil }
            switch ErrorDocument(answer.kept)?.code {
            case "ExpiredToken", "InvalidAccessKeyId", "InvalidToken", "TokenRefreshRequired",
                "SignatureDoesNotMatch", "InvalidClientTokenId":
                self = .credentials
            case "RequestTimeTooSkewed", "RequestExpired":
                self = .clock(seconds: answer["date"].flatMap { ServerDate.seconds($0) })
            default:
                guard answer.status != 400, answer.fault == nil else { return nil }
                self = .denied
            }
        }
    }

    /// Whether it did something all the same is not said.
    static func isTransient(_ answer: HTTPAnswer) -> Bool {
        switch answer.status {
        case 408, 409, 429, 500, 502, 503, 504: true
        case 400: ErrorDocument(answer.kept)?.code == "RequestTimeout"
        default: false
        }
    }

    func what(_ question: Question) -> String {
        let name = ObjectText.line(question.name)
        return
            "\(question.operation.rawValue) \(name.isEmpty ? "" : "\(name) ")in \(bucket.url) at \(bucket.access.endpoint)"
    }

    /// The error for a request without an answer that was not a put.
    func error(_ question: Question, _ failure: TransportFailure) -> ObjectStoreError {
        switch failure {
        case .stopped: Self.stopped
        case .notConnected(let reason):
            ObjectStoreError(
                .notReachable,
                "\(what(question)): not reachable: \(reason). Is AWS_ENDPOINT_URL right?")
        case .cut(let reason):
            ObjectStoreError(.notReachable, "\(what(question)): no answer: \(reason)")
        }
    }

    func error(_ question: Question, _ answer: HTTPAnswer) -> ObjectStoreError {
        let what = what(question)
        switch answer.fault {
        case .tooLarge:
            return ObjectStoreError(
                .tooLarge, "\(what): the answer is longer than \(question.byteCountMax) bytes")
        case .bad(let words): return bad(question, words)
        case nil: break
        }
        let document = ErrorDocument(answer.kept)
        let words = "\(answer.status)\(document.map { " \($0.words)" } ?? "")"
        if (300..<400).contains(answer.status) { return redirected(what, answer, document) }
        switch document?.code {
        case "NoSuchBucket":
            return ObjectStoreError(
                .noBucket,
                "\(what): the bucket \"\(bucket.url.bucket)\" does not exist there. Create it, or check AWS_ENDPOINT_URL and AWS_REGION"
            )
        case "ExpiredToken", "InvalidAccessKeyId", "InvalidToken", "TokenRefreshRequired",
            "InvalidClientTokenId":
            return ObjectStoreError(
                .expiredCredentials,
                "\(what): \(words): the server does not accept the \(bucket.access.credentials). \(bucket.access.credentials.remedy)"
            )
        case "SignatureDoesNotMatch":
            return ObjectStoreError(
                .denied,
                "\(what): \(words): the secret does not belong to the \(bucket.access.credentials), or a proxy changes requests"
            )
        case "RequestTimeTooSkewed", "RequestExpired":
            return ObjectStoreError(
                .clockSkewed,
                "\(what): \(words): this machine's clock says \(Self.text(bucket.clock.now)), the server's \(answer["date"].map { ObjectText.line($0) } ?? "nothing"). Set the clock"
            )
        case "AuthorizationHeaderMalformed", "AuthorizationQueryParametersError":
            return redirected(what, answer, document)
        default: break
        }
        switch answer.status {
        case 401, 403:
            return ObjectStoreError(
                .denied,
                "\(what): \(words): the \(bucket.access.credentials) may not \(question.operation.rawValue) there. Allow s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket"
            )
        case _ where Self.isTransient(answer):
            return ObjectStoreError(.unavailable, "\(what): \(words)")
        case 501:
            return ObjectStoreError(
                .badAnswer, "\(what): \(words): the server does not support this request")
        default: return bad(question, words)
        }
    }

    func bad(_ question: Question, _ words: String) -> ObjectStoreError {
        ObjectStoreError(.badAnswer, "\(what(question)): unexpected answer: \(words)")
    }

    private func redirected(
        _ what: String, _ answer: HTTPAnswer, _ document: ErrorDocument?
    ) -> ObjectStoreError {
        let region = answer["x-amz-bucket-region"] ?? document?.region
        let place = document?.endpoint ?? answer["location"]
        let hints =
            (region.map { ["region \(ObjectText.line($0))"] } ?? [])
            + (place.map { ["endpoint \(ObjectText.line($0))"] } ?? [])
        let to = hints.isEmpty ? "" : " (the server names \(hints.joined(separator: ", ")))"
        return ObjectStoreError(
            .redirected,
            "\(what): \(answer.status)\(document.map { " \($0.words)" } ?? ""): the bucket is not at this endpoint in region \(bucket.access.region)\(to). Set AWS_REGION and AWS_ENDPOINT_URL; redirects are not followed"
        )
    }

    private static func text(_ time: SigningTime) -> String {
        String(decoding: time.text, as: UTF8.self)
    }
}
