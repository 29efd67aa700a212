import BlobJSON
import BlobProtocol
import BlobStore

/// A category: `{"name","app","actions"}`.
enum CategoryDocument {
    /// Appends the document.
    static func append(_ category: Category, to out: inout [UInt8]) {
        out.append("{\"name\":")
        JSONText.append(category.name, to: &out)
        if let app = category.app {
            out.append(",\"app\":")
            JSONText.append(app, to: &out)
        }
        out.append(",\"actions\":")
        ActionsDocument.append(category.actions, to: &out)
        out.append("}")
    }

    /// Reads a document of at most 64 KiB. It may repeat name and app, as what was answered does.
    static func parse(
        _ bytes: RawSpan, name: String, app: String?
    ) throws(ProtocolError) -> Category {
        let object = try JSONObject(parsing: bytes, "the category")
        try object.check(["name", "app", "actions"])
        if let said = try object.text("name"), !said.utf8.elementsEqual(name.utf8) {
            throw ProtocolError(
                .immutableMember,
                "the document's name, \(said.utf8.span.bytes.excerpt()), is not the path's")
        }
        if let said = try object.text("app"), !said.utf8.elementsEqual((app ?? "").utf8) {
            throw ProtocolError(
                .immutableMember,
                "the document's app, \(said.utf8.span.bytes.excerpt()), is not the query's")
        }
        guard let actions = try object.actions() else {
            throw ProtocolError(.badDocument, "the category lacks the member actions")
        }
        return Category(name: name, actions: actions, app: app)
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
