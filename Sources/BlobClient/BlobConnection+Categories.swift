import BlobJSON
public import BlobProtocol

// The categories that give notifications their buttons.
extension BlobConnection {
    /// Gives a category its actions and options, for the notifications of one app, or of all that
    /// have no own one of that name. Owners with a notification of it are told so in their feeds,
    /// before this returns. One that says what is there already stays as it is, revision and all.
    /// Throws `preconditionFailed`.
    @discardableResult
    public mutating func setCategory(
        _ name: String, _ actions: [NotificationRecord.Action],
        options: [NotificationCategory.Option] = [], app: String? = nil,
        condition: CallCondition = .none
    ) throws(ClientError) -> CategoryReceipt {
        var document = DocumentBuilder()
        document.add("actions", .array(actions.map(\.json)))
        if !options.isEmpty {
            document.add("options", .array(options.map { .string($0.rawValue) }))
        }
        let target = try CallTarget.category(name, app).text
        let answer = try call(
            .put, target, body: document.bytes, mediaType: Self.json, condition: condition)
        return CategoryReceipt(
            category: try NotificationCategory(DocumentReader(answer.body)),
            isCreated: answer.status == 201)
    }

    /// A category of one app, or of all. Throws `notFound`.
    public mutating func category(
        _ name: String, app: String? = nil
    ) throws(ClientError) -> NotificationCategory {
        try NotificationCategory(DocumentReader(try categoryDocument(name, app: app)))
    }

    /// The JSON document that `category` reads.
    public mutating func categoryDocument(
        _ name: String, app: String? = nil
    ) throws(ClientError) -> [UInt8] {
        try call(.get, try CallTarget.category(name, app).text).body
    }

    /// All categories, by name and app. The daemon answers them page by page.
    public mutating func categories() throws(ClientError) -> [NotificationCategory] {
        var all: [NotificationCategory] = []
        var next: String?
        repeat {
            let reader = try DocumentReader(try categoriesDocument(after: next))
            all += try reader.list("categories", NotificationCategory.init)
            next = try reader.optionalText("next")
        } while next != nil
        return all
    }

    /// A page of the JSON document that `categories` reads. Its `next` is the cursor behind which the
    /// next page begins; the last page has none.
    public mutating func categoriesDocument(
        after cursor: String? = nil
    ) throws(ClientError) -> [UInt8] {
        var target = CallTarget("/v1/categories")
        target.add("after", cursor)
        return try call(.get, target.text).body
    }

    /// Removes a category of one app, or of all; notifications keep its name. Throws `notFound`,
    /// `preconditionFailed`.
    public mutating func deleteCategory(
        _ name: String, app: String? = nil, condition: CallCondition = .none
    ) throws(ClientError) {
        _ = try call(.delete, try CallTarget.category(name, app).text, condition: condition)
    }
}
