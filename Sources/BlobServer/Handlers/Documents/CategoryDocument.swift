import BlobJSON
import BlobProtocol
import BlobStore
import Bytes
import Notifications

/// A category: `{"name","app","revision","actions","options"}`.
enum CategoryDocument {
    /// Appends the document. Without options there is no such member.
    static func append(_ category: Category, to out: inout [UInt8]) {
        out.append("{\"name\":")
        JSONText.append(category.name, to: &out)
        append(app: category.app, to: &out)
        if category.revision > 0 {
            out.append(",\"revision\":")
            Decimal.append(category.revision, to: &out)
        }
        out.append(",\"actions\":")
        ActionsDocument.append(category.actions, to: &out)
        append(category.options, to: &out)
        out.append("}")
    }

    private static func append(_ options: CategoryOptions, to out: inout [UInt8]) {
        guard !options.isEmpty else { return }
        out.append(",\"options\":[")
        var isFirst = true
        for (name, option) in CategoryOptions.known where options.contains(option) {
            if !isFirst { out.append(",") }
            isFirst = false
            JSONText.append(name, to: &out)
        }
        out.append("]")
    }

    /// Appends what is told of one that is gone.
    static func append(gone name: String, app: String?, to out: inout [UInt8]) {
        out.append("{\"name\":")
        JSONText.append(name, to: &out)
        append(app: app, to: &out)
        out.append(",\"deleted\":true}")
    }

    private static func append(app: String?, to out: inout [UInt8]) {
        guard let app else { return }
        out.append(",\"app\":")
        JSONText.append(app, to: &out)
    }

    /// Reads a document of at most 64 KiB. It may repeat name, app and revision, as what was answered
    /// does; the revision is passed over, since conditions have fields of their own.
    static func parse(
        _ bytes: RawSpan, name: CategoryName, app: AppName?
    ) throws(ProtocolError) -> Category {
        let object = try JSONObject(parsing: bytes, "the category")
        try object.check(["name", "app", "revision", "actions", "options"])
        _ = try object.number("revision", in: 0...Int64.max, .badDocument)
        if let said = try object.text("name"), !said.isSame(as: name.text) {
            throw ProtocolError(
                .immutableMember,
                "the name \(said.utf8.span.bytes.excerpt()) in the document differs from the path")
        }
        if let said = try object.text("app"), !said.isSame(as: app?.text ?? "") {
            throw ProtocolError(
                .immutableMember,
                "the app \(said.utf8.span.bytes.excerpt()) in the document differs from the query")
        }
        guard let actions = try object.actions() else {
            throw ProtocolError(.badDocument, "the category has no member actions")
        }
        return Category(
            name: name.text, actions: actions, options: try options(object), app: app?.text)
    }

    private static func options(_ object: JSONObject) throws(ProtocolError) -> CategoryOptions {
        guard let value = object["options"] else { return [] }
        guard case .array(let elements) = value else {
            throw .wrongType("options", "an array", value)
        }
        var options: CategoryOptions = []
        for element in elements {
            guard case .string(let text) = element else {
                throw .wrongType("an option", "a string", element)
            }
            let found = CategoryOptions.known.first { $0.name.utf8.elementsEqual(text.utf8) }
            guard let found else {
                let known = CategoryOptions.known.map(\.name).joined(separator: ", ")
                throw ProtocolError(
                    .badOptions,
                    "unknown option \(text.utf8.span.bytes.excerpt()); known are \(known)")
            }
            options.insert(found.option)
        }
        return options
    }
}

/// A page of categories: `{"categories":[…]}`, with `"next"` where there are more.
enum CategoriesDocument {
    /// Appends the document.
    static func append(_ page: CategoryPage, to out: inout [UInt8]) {
        out.append("{\"categories\":[")
        for (index, category) in page.categories.enumerated() {
            if index > 0 { out.append(",") }
            CategoryDocument.append(category, to: &out)
        }
        out.append("]")
        if let next = page.next {
            out.append(",\"next\":")
            JSONText.append(next, to: &out)
        }
        out.append("}")
    }
}
