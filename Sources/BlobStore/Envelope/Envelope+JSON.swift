internal import BlobJSON

extension Envelope {
    init(json: PushJSON) {
        var bytes: [UInt8] = []
        json.value.append(to: &bytes)
        self.init(mediaType: "application/json", bytes: bytes)
    }
}

/// The JSON of a push. Its members' names are those that apps of the provider look for.
struct PushJSON {
    let value: JSONValue

    /// APNs: an `aps` dictionary and the app's own members beside it. In the background
    /// `content-available` wakes the app; with an alert `mutable-content` lets it change what is
    /// shown, and `category` chooses the buttons.
    static func apns(_ record: Record, alert: String?) -> PushJSON {
        var aps = Members()
        if let alert {
            aps.add("alert", .object([JSONMember("body", .string(alert))]))
            aps.add("mutable-content", .number(JSONNumber(1)))
            aps.add("category", record.details.category)
        } else {
            aps.add("content-available", .number(JSONNumber(1)))
            aps.add("sound", .string(""))
        }
        var push = Members()
        push.add("aps", aps.object)
        push.addReferences(record, withMessage: alert == nil)
        return PushJSON(value: push.object)
    }

    /// FCM: a `message` whose `data` has texts alone. Low priority is `normal` there.
    static func fcm(_ record: Record, alert: String?) -> PushJSON {
        let priority = record.details.priority == .high ? "high" : "normal"
        var data = Members()
        data.addReferences(record, withMessage: true)
        if alert != nil { data.add("category", record.details.category) }
        var message = Members()
        message.add("android", .object([JSONMember("priority", .string(priority))]))
        message.add("data", data.object)
        if let alert {
            message.add("notification", .object([JSONMember("body", .string(alert))]))
        }
        return PushJSON(value: .object([JSONMember("message", message.object)]))
    }

    /// WNS takes any bytes as a raw notification: what the app fetches by, and nothing else.
    static func references(_ record: Record) -> PushJSON {
        var push = Members()
        push.addReferences(record, withMessage: true)
        return PushJSON(value: push.object)
    }
}

/// The members of an object that is being made.
private struct Members {
    private var members: [JSONMember] = []

    var object: JSONValue { .object(members) }

    mutating func add(_ name: String, _ value: JSONValue) {
        members.append(JSONMember(name, value))
    }

    mutating func add(_ name: String, _ text: String?) {
        if let text { add(name, .string(text)) }
    }

    /// What the app fetches by.
    mutating func addReferences(_ record: Record, withMessage: Bool) {
        add("richId", record.id)
        if withMessage { add("richMessage", record.message) }
        add("richType", record.richType)
    }
}
