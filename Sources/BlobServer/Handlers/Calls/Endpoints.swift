import BlobProtocol

extension Endpoint {
    /// Every HTTP call. The methods of a path are adjacent, in the order of `Allow`. A path that another pattern also
    /// matches comes first. A test compares the table with `docs/openapi.json`.
    static let all: [Endpoint] = [
        payloads, notifications, categories, owners, links, devices, operation,
    ].flatMap { $0 }

    /// Also used for the frame `put`.
    static let putPart = Endpoint(
        .put, "/v1/notifications/{id}/parts/{name}", "putPart", .publish, body: .payload,
        also: .conditions, .performInSnapshot(RequestHandler.putPayload))

    private static let payloads = [
        Endpoint(
            .get, "/v1/notifications/{id}/payload", "getPayload", .fetch,
            .fetch),
        Endpoint(
            .put, "/v1/notifications/{id}/payload", "putPayload", .publish, body: .payload,
            also: .conditions, .performInSnapshot(RequestHandler.putPayload)),
        Endpoint(
            .get, "/v1/notifications/{id}/parts/{name}", "getPart", .fetch,
            .fetch),
        putPart,
        Endpoint(
            .get, "/api/notifications/{id}", "getClassicPayload", .fetch,
            .fetch),
        Endpoint(.get, "/v1/blobs/{digest}", "getBlob", .fetch, .fetch),
        Endpoint(
            .put, "/v1/blobs/{digest}", "hold", .blob, body: .blob, query: ["ttl"],
            on: .backends,
            .perform(RequestHandler.holdBlob)),
        Endpoint(
            .post, "/v1/blobs", "holdNew", .blob, body: .blob, query: ["ttl"],
            on: .backends,
            .perform(RequestHandler.holdBlob)),
    ]

    private static let notifications = [
        Endpoint(
            .get, "/v1/notifications/{id}", "notification", .record,
            on: .backends, .performInSnapshot(RequestHandler.getNotification)),
        Endpoint(
            .put, "/v1/notifications/{id}", "publish", .publish, body: .notification,
            on: .backends, also: .conditions,
            .performInSnapshot(RequestHandler.putNotification)),
        Endpoint(
            .patch, "/v1/notifications/{id}", "patch", .patch, body: .patch,
            on: .backends, also: .conditions,
            .perform(RequestHandler.patchNotification)),
        Endpoint(
            .delete, "/v1/notifications/{id}", "delete", .delete, body: .none,
            on: .backends, also: .conditions,
            .perform(RequestHandler.deleteNotification)),
        // Only in frames: a proxy that forwards HTTP must not reveal all ids.
        Endpoint(
            .get, "/v1/notifications", "list", .list, query: ["limit", "after"],
            on: .frames,
            .performInSnapshot(RequestHandler.listNotifications)),
        Endpoint(
            .post, "/v1/notifications", "publishNew", .publish, body: .notification,
            on: .backends, also: .conditions,
            .performInSnapshot(RequestHandler.putNotification)),
        Endpoint(
            .post, "/v1/notifications:batch", "publishBatch", .batch, body: .lines,
            on: .backends,
            .perform(RequestHandler.postBatch)),
        Endpoint(
            .post, "/v1/notifications/{id}/responses", "respond", .respond, body: .document,
            on: .backends, .perform(RequestHandler.postResponse)),
        Endpoint(
            .get, "/v1/notifications/{id}/envelope", "envelope", .envelope,
            query: ["platform", "style", "format", "token", "navigate"],
            on: .backends, .performInSnapshot(RequestHandler.getEnvelope)),
    ]

    private static let categories = [
        Endpoint(
            .get, "/v1/categories", "categories", .category, query: ["after"],
            on: .backends,
            .performInSnapshot(RequestHandler.getCategories)),
        Endpoint(
            .get, "/v1/categories/{name}", "category", .category, query: ["app"],
            on: .backends, .performInSnapshot(RequestHandler.getCategory)),
        Endpoint(
            .put, "/v1/categories/{name}", "setCategory", .category, body: .document,
            query: ["app"],
            on: .backends, also: .conditions, .perform(RequestHandler.putCategory)),
        Endpoint(
            .delete, "/v1/categories/{name}", "deleteCategory", .category, body: .none,
            query: ["app"],
            on: .backends, also: .conditions,
            .perform(RequestHandler.deleteCategory)),
    ]

    private static let filterParameters: [StaticString] = [
        "app", "read", "action_state", "group", "platform", "target_host", "status",
    ]
    private static let feedParameters = ["since", "limit", "wait"] + filterParameters

    private static let owners = [
        Endpoint(
            .delete, "/v1/users/{owner}", "deleteOwner", .delete, body: .none,
            on: .backends,
            .perform(RequestHandler.deleteOwner)),
        Endpoint(
            .get, "/v1/users/{owner}/notifications", "history", .list,
            query: filterParameters + ["limit", "before"],
            on: .backends, .performInSnapshot(RequestHandler.getHistory)),
        Endpoint(
            .patch, "/v1/users/{owner}/notifications", "patchGroup", .patch, body: .patch,
            query: ["group", "app"],
            on: .backends, .perform(RequestHandler.patchGroup)),
        Endpoint(
            .delete, "/v1/users/{owner}/notifications", "deleteGroup", .delete, body: .none,
            query: ["group", "app"], on: .backends,
            .perform(RequestHandler.deleteGroup)),
        Endpoint(
            .get, "/v1/users/{owner}/changes", "changes", .changes, body: .none,
            query: feedParameters,
            on: .backends, .perform(RequestHandler.getChanges)),
    ]

    private static let links = [
        Endpoint(
            .get, "/d/users/{owner}/changes", "linkedChanges", .changes, body: .none,
            query: feedParameters,
            on: .devices, also: .signed, .perform(RequestHandler.getChanges)),
        Endpoint(
            .get, "/d/{id}", "linkedPayload", .fetch, on: .devices,
            also: .signed, .fetch),
        Endpoint(
            .get, "/d/{id}/parts/{name}", "linkedPart", .fetch, on: .devices,
            also: .signed, .fetch),
    ]

    /// For the owner that a device's token names.
    private static let devices = [
        Endpoint(
            .get, "/d/me/notifications", "ownHistory", .list,
            query: filterParameters + ["limit", "before"], on: .devices,
            also: .token, .performInSnapshot(RequestHandler.getHistory)),
        Endpoint(
            .get, "/d/me/notifications/{id}", "ownNotification", .record,
            on: .devices, also: .token, .performInSnapshot(RequestHandler.getNotification)),
        Endpoint(
            .patch, "/d/me/notifications/{id}", "patchOwn", .patch, body: .patch,
            on: .devices,
            also: [.token, .conditions], .perform(RequestHandler.patchNotification)),
        Endpoint(
            .get, "/d/me/notifications/{id}/category", "ownCategory", .category,
            on: .devices, also: .token, .performInSnapshot(RequestHandler.getCategoryOfNotification)
        ),
        Endpoint(
            .get, "/d/me/notifications/{id}/payload", "ownPayload", .fetch,
            on: .devices,
            also: .token, .fetch),
        Endpoint(
            .get, "/d/me/notifications/{id}/parts/{name}", "ownPart", .fetch,
            on: .devices,
            also: .token, .fetch),
        Endpoint(
            .post, "/d/me/notifications/{id}/responses", "respondToOwn", .respond, body: .document,
            on: .devices, also: .token, .perform(RequestHandler.postResponse)),
        Endpoint(
            .get, "/d/me/changes", "ownChanges", .changes, body: .none, query: feedParameters,
            on: .devices, also: .token, .perform(RequestHandler.getChanges)),
    ]

    private static let operation = [
        Endpoint(
            .get, "/livez", "live", .probe, body: .none, query: nil, on: .devices,
            also: .withoutMemory,
            .perform(RequestHandler.getLive)),
        Endpoint(
            .get, "/readyz", "ready", .probe, body: .none, query: nil,
            also: .withoutMemory,
            .perform(RequestHandler.getReady)),
        Endpoint(
            .get, "/healthz", "healthy", .probe, body: .none, query: nil,
            also: .withoutMemory,
            .perform(RequestHandler.getReady)),
        Endpoint(
            .get, "/v1/stats", "statistics", .stats, query: nil, on: .backends,
            also: .withoutMemory,
            .perform(RequestHandler.getStatistics)),
        Endpoint(
            .get, "/metrics", "metrics", .metrics, query: nil,
            also: .withoutMemory,
            .perform(RequestHandler.getMetrics)),
        Endpoint(
            .get, "/v1/openapi.json", "openAPI", .openapi, query: nil,
            .perform(RequestHandler.getOpenAPI)),
        Endpoint(
            .get, "/v1/backup", "backup", .backup, body: .none, query: nil,
            also: [.withoutMemory, .onCommitted], .perform(RequestHandler.getBackup)),
        Endpoint(
            .get, "/v1/scrub", "scrub", .scrub, body: .none, on: .backends,
            .perform(RequestHandler.getScrub)),
        Endpoint(
            .post, "/v1/scrub", "startScrub", .scrub, body: .none, on: .backends,
            also: .onFollowers,
            .perform(RequestHandler.postScrub)),
        Endpoint(
            .get, "/v1/replication", "replication", .replication, body: .none,
            on: .backends,
            .perform(RequestHandler.getReplication)),
        Endpoint(
            .post, "/v1/replication", "promote", .replication, body: .none, query: ["force"],
            on: .backends, also: .onFollowers,
            .perform(RequestHandler.postReplication)),
    ]
}
