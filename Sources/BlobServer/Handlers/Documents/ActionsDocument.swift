import BlobJSON
import BlobProtocol
import BlobStore
import Bytes

/// The actions of a notification or a category: an array of objects with `identifier`, `title` and
/// the flags `foreground`, `destructive` and `authentication_required`.
enum ActionsDocument {
    /// Appends the array; every member is always there.
    static func append(_ actions: [NotificationAction], to out: inout [UInt8]) {
        out.append("[")
        for (index, action) in actions.enumerated() {
            if index > 0 { out.append(",") }
            out.append("{\"identifier\":")
            JSONText.append(action.identifier, to: &out)
            out.append(",\"title\":")
            JSONText.append(action.title, to: &out)
            append("foreground", action.isForeground, to: &out)
            append("destructive", action.isDestructive, to: &out)
            append("authentication_required", action.requiresAuthentication, to: &out)
            out.append("}")
        }
        out.append("]")
    }

    private static func append(_ name: StaticString, _ value: Bool, to out: inout [UInt8]) {
        out.append(",\"")
        out.append(name)
        out.append(value ? "\":true" : "\":false")
    }

    /// Reads the array. Flags that are not given are false. What the actions may be called is the
    /// store's to check; here they are counted, so that no long list is made for nothing.
    static func parse(_ value: JSONValue) throws(ProtocolError) -> [NotificationAction] {
        guard case .array(let elements) = value else {
            throw .wrongType("actions", "an array", value)
        }
        let max = StoreLimits.actionCountMax
        guard elements.count <= max else {
            throw ProtocolError(
                .badActions, "too many actions: \(elements.count); the limit is \(max)", limit: max)
        }
        var actions: [NotificationAction] = []
        for (index, element) in elements.enumerated() {
            let object = try JSONObject(element, "actions[\(index)]")
            try object.check([
                "identifier", "title", "foreground", "destructive", "authentication_required",
            ])
            actions.append(
                NotificationAction(
                    identifier: try object.required("identifier"),
                    title: try object.required("title"),
                    isForeground: try object.flag("foreground") ?? false,
                    isDestructive: try object.flag("destructive") ?? false,
                    requiresAuthentication: try object.flag("authentication_required") ?? false))
        }
        return actions
    }
}
