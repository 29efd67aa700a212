import BlobProtocol
import BlobStore

// The calls about the daemon itself.

extension RequestHandler {
    func getLive(_ request: EndpointRequest) throws(ProtocolError) -> ActionStep {
        .respond(.text(Array("ok\n".utf8)))
    }

    func getReady(_ request: EndpointRequest) throws(ProtocolError) -> ActionStep {
        if isStopping { throw .stopping }
        if let refusal = replica.refusal { throw ProtocolError(notReady: refusal) }
        return .write(.checkWritable, .ready)
    }

    func getStatistics(_ request: EndpointRequest) throws(ProtocolError) -> ActionStep {
        let body = try asked(try statistics.compose())
        return .respond(.document(Answer.Document(body: body)))
    }

    func getMetrics(_ request: EndpointRequest) throws(ProtocolError) -> ActionStep {
        let body = try asked(try metrics.compose())
        return .respond(
            .document(Answer.Document(mediaType: MetricsText.mediaType, body: body)))
    }

    func getOpenAPI(_ request: EndpointRequest) throws(ProtocolError) -> ActionStep {
        .respond(.document { OpenAPIDocument.append(limits, to: &$0) })
    }

    func getBackup(_ request: EndpointRequest) throws(ProtocolError) -> ActionStep {
        .sendBackup
    }

    func getScrub(_ request: EndpointRequest) throws(ProtocolError) -> ActionStep {
        return .respond(scrubAnswer)
    }

    func postScrub(_ request: EndpointRequest) throws(ProtocolError) -> ActionStep {
        guard !isStopping else { throw .stopping }
        statistics.scrub.request()
        return .respond(scrubAnswer)
    }

    private var scrubAnswer: Answer {
        .document { ScrubDocument(store: store, state: statistics.scrub).append(to: &$0) }
    }

    func getReplication(_ request: EndpointRequest) throws(ProtocolError) -> ActionStep {
        return .respond(replicationAnswer)
    }

    func postReplication(_ request: EndpointRequest) throws(ProtocolError) -> ActionStep {
        guard !isStopping else { throw .stopping }
        let isForced = try request.query.flag("force") ?? false
        switch replica.role {
        case .alone:
            throw ProtocolError(.notReplicated, "this daemon is not replicated (--follow)")
        case .leader: return .respond(replicationAnswer)
        case .follower, .changing: return .write(.promote(isForced: isForced), .nothing)
        }
    }

    var replicationAnswer: Answer {
        .document { ReplicationDocument.append(store, replica, to: &$0) }
    }
}
