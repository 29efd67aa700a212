import BlobJSON
import BlobProtocol
import BlobStore
import Bytes
import Notifications

/// A category: `{"name","app","revision","actions","options"}`.
enum CategoryDocument {
    static func append(_ category: Category, to out: inout [UInt8]) {
        out.object {
            $0.add("name", category.name)
            $0.add("app", category.app)
            if category.revision > 0 { $0.add("revision", category.revision) }
            ActionsDocument.add(category.actions, to: &$0)
            let options = CategoryOptions.known.filter { category.options.contains($0.option) }
            if !options.isEmpty {
                $0.add("options", options) { JSONText.append($0.name, to: &$1) }
            }
        }
    }

    static func append(gone name: String, app: String?, to out: inout [UInt8]) {
        out.object {
            $0.add("name", name)
            $0.add("app", app)
            $0.add("deleted", true)
        }
    }

    /// The document may repeat name, app and revision, as an answer does.
    static func parse(
        _ bytes: RawSpan, name: CategoryName, app: AppName?
    ) throws(ProtocolError) -> Category {
        let object = try DocumentObject(parsing: bytes, "the category")
        try object.check(["name", "app", "revision", "actions", "options"])
        _ = try object.number("revision", in: 0...Int64.max, .badDocument)
        if let said = try object.text("name"), !said.isSame(as: name.text) {
            throw ProtocolError(
                .immutableMember,
                "the name \(said.excerpt) in the document differs from the path")
        }
        if let said = try object.text("app"), !said.isSame(as: app?.text ?? "") {
            throw ProtocolError(
                .immutableMember,
                "the app \(said.excerpt) in the document differs from the query")
        }
        let actions = try require(
            try object.actions(), .badDocument, "the category has no member actions")
        return Category(
            name: name.text, actions: actions, options: try options(object), app: app?.text)
    }

    private static func options(_ object: DocumentObject) throws(ProtocolError) -> CategoryOptions {
        var options: CategoryOptions = []
        for element in try object.elements("options") ?? [] {
            guard case .string(let text) = element else {
                throw .wrongType("an option", "a string", element)
            }
            let found = CategoryOptions.known.first { $0.name.utf8.elementsEqual(text.utf8) }
            let known = CategoryOptions.known.map(\.name)
            options.insert(
                try require(
                    found?.option, .badOptions,
                    "unknown option \(text.excerpt); known are \(known.joined(separator: ", "))"))
        }
        return options
    }
}

/// The actions of a notification or a category.
enum ActionsDocument {
    static func add(_ actions: [NotificationAction], to out: inout [UInt8]) {
        out.add("actions", actions) { action, out in
            out.object {
                $0.add("identifier", action.identifier)
                $0.add("title", action.title)
                $0.add("foreground", action.isForeground)
                $0.add("destructive", action.isDestructive)
                $0.add("authentication_required", action.requiresAuthentication)
            }
        }
    }

    /// The store checks the names. They are counted here to avoid building a long list in vain.
    static func parse(_ elements: [JSONValue]) throws(ProtocolError) -> [NotificationAction] {
        let max = StoreLimits.actionCountMax
        try require(
            elements.count <= max, .badActions,
            "too many actions: \(elements.count); the limit is \(max)", limit: max)
        return try NotificationAction.list(elements, "actions")
    }
}
