import BlobJSON
import BlobStore
import Bytes

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

    /// The longest time that FCM keeps a message, and for which it does so unless it is told.
    private static let fcmSecondsMax: Int64 = 28 * 86_400

    /// APNs: an `aps` dictionary and the app's own members. `content-available` wakes the app in the background;
    /// Apple allows no `alert`, `badge` or `sound` with it. With an alert, `mutable-content` lets the app change what is
    /// shown, and `category` chooses the buttons.
    static func apns(_ record: Record, _ alert: PushAlert?, _ link: String?) -> PushJSON {
        var aps = Members()
        if let alert {
            var shown = Members()
            shown.add("title", alert.title)
            shown.add("body", alert.message)
            aps.add("alert", shown.object)
            aps.add("mutable-content", .number(JSONNumber(1)))
            aps.add("category", record.details.category)
        } else {
            aps.add("content-available", .number(JSONNumber(1)))
        }
        var push = Members()
        push.add("aps", aps.object)
        push.addReferences(record, withTexts: alert == nil, link)
        return PushJSON(value: push.object)
    }

    /// FCM: a `message` whose `data` has texts alone. Low priority is `normal` there. What FCM hands on to APNs has
    /// APNs' fields. With a token it is the whole body of HTTP v1 `messages:send`.
    static func fcm(
        _ record: Record, _ alert: PushAlert?, _ time: PushTime, _ link: String?,
        token: String? = nil
    ) -> PushJSON {
        var android = Members()
        android.add("priority", record.details.priority == .high ? "high" : "normal")
        if time.seconds < fcmSecondsMax { android.add("ttl", "\(time.seconds)s") }
        var data = Members()
        data.addReferences(record, withTexts: true, link)
        if alert != nil { data.add("category", record.details.category) }
        var message = Members()
        message.add("token", token)
        message.add("android", android.object)
        message.add("apns", apnsOfFCM(record, alert, time))
        message.add("data", data.object)
        if let alert {
            var shown = Members()
            shown.add("title", alert.title)
            shown.add("body", alert.message)
            message.add("notification", shown.object)
        }
        return PushJSON(value: .object([JSONMember("message", message.object)]))
    }

    private static func apnsOfFCM(
        _ record: Record, _ alert: PushAlert?, _ time: PushTime
    ) -> JSONValue {
        var headers = Members()
        for header in PushHeader.apns(record, alert == nil ? .silent : .alert, time) {
            headers.add(header.name, header.value)
        }
        var aps = Members()
        if alert == nil {
            aps.add("content-available", .number(JSONNumber(1)))
        } else {
            aps.add("mutable-content", .number(JSONNumber(1)))
            aps.add("category", record.details.category)
        }
        return .object([
            JSONMember("headers", headers.object),
            JSONMember("payload", .object([JSONMember("aps", aps.object)])),
        ])
    }

    /// Web Push: what a service worker gives to `showNotification`, with the app's own members in `data`. With a page to
    /// open it is also a declarative push, which a service worker may complete (`mutable`).
    static func webPush(
        _ record: Record, _ alert: PushAlert?, _ link: String?, _ page: String?
    ) -> PushJSON {
        var data = Members()
        data.addReferences(record, withTexts: false, link)
        var shown = Members()
        // There is no notification without a title.
        shown.add("title", alert?.title ?? alert?.message)
        if alert?.title != nil { shown.add("body", alert?.message) }
        shown.add("navigate", page)
        shown.add("tag", record.id)
        shown.add("data", data.object)
        var push = Members()
        if page != nil {
            push.add("web_push", .number(JSONNumber(8_030)))
            push.add("mutable", .bool(true))
        }
        push.add("notification", shown.object)
        return PushJSON(value: push.object)
    }

    /// WNS takes any bytes as a raw notification: what the app fetches by, and nothing else.
    static func references(_ record: Record, _ link: String?) -> PushJSON {
        var push = Members()
        push.addReferences(record, withTexts: true, link)
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
    mutating func addReferences(_ record: Record, withTexts: Bool, _ link: String?) {
        add("richId", record.id)
        if withTexts {
            add("richTitle", record.title)
            add("richMessage", record.message)
        }
        add("richType", record.richType)
        add("richUrl", link)
    }
}

extension Envelope {
    /// A toast with title and message, whose launch argument is `richId=` and the id, percent-encoded, so that one
    /// with `&` or `=` in it stays one value.
    init(toast alert: PushAlert, id: String) {
        var encoded: [UInt8] = []
        PercentCoding.encode(id.utf8.span.bytes, into: &encoded)
        let launch = "richId=" + String(decoding: encoded, as: UTF8.self)
        var xml =
            "<toast launch=\"\(launch)\"><visual><binding template=\"ToastGeneric\">"
        for text in [alert.title, alert.message] {
            if let text { xml += "<text>\(Self.escaped(text))</text>" }
        }
        xml += "</binding></visual></toast>"
        self.init(mediaType: "text/xml", bytes: Array(xml.utf8))
    }

    /// A text for an element or a quoted attribute (XML 1.0, sections 2.2 to 2.4). What XML cannot have becomes
    /// U+FFFD.
    private static func escaped(_ text: String) -> String {
        var out = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": out += "&amp;"
            case "<": out += "&lt;"
            case ">": out += "&gt;"
            case "\"": out += "&quot;"
            case "'": out += "&apos;"
            case "\t": out += "&#9;"
            case "\n": out += "&#10;"
            case "\r": out += "&#13;"
            case "\u{0}"..<" ", "\u{FFFE}", "\u{FFFF}": out += "\u{FFFD}"
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out
    }
}
