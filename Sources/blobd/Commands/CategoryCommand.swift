import ArgumentParser
import BlobClient
import BlobProtocol

struct CategoryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "category",
        abstract: "Show or change categories: the default buttons of notifications.",
        usage: """
            blobd category
            blobd category <name> [--app <name>] [--actions <json> [--option <name>] ... | --delete]
                           [--if-revision <number>]
            """,
        discussion: """
            Without a name, prints all categories, one JSON document per line. An action has the strings \
            identifier and title, and the booleans foreground, destructive and authentication_required. A \
            category of one app overrides the one of all apps. Each user with a notification of the category \
            gets a change in the feed.

              blobd category invitation --actions \\
                '[{"identifier":"yes","title":"Yes"},{"identifier":"no","title":"No"}]'
              blobd category invitation --actions '[]' --option custom_dismiss_action
              blobd category invitation
              blobd category invitation --delete --if-revision 17
            """)

    @Argument(help: .named("name", "The category's name."))
    var name: String?

    @Option(help: .named("name", "The app it is for. Default: all."))
    var app: String?

    @Option(help: .named("json", "The new actions, as a JSON array."))
    var actions: String?

    @Option(help: .named("name", "How devices treat its notifications. Repeatable."))
    var option: [NotificationCategory.Option] = []

    @Option(help: .named("number", "Exit with 1 if the revision differs."))
    var ifRevision: UInt64?

    @Flag(help: "Delete it. Notifications keep its name, but lose its buttons.")
    var delete = false

    @OptionGroup var socket: SocketOptions

    func validate() throws {
        try require(
            name != nil || (app == nil && actions == nil && !delete),
            "--app, --actions and --delete need a category's name")
        try require(
            actions == nil || !delete, "--actions and --delete cannot be used together"
        )
        try require(
            option.isEmpty || actions != nil, "--option needs --actions: they are set together")
        try require(
            ifRevision == nil || actions != nil || delete,
            "--if-revision needs --actions or --delete")
        if let actions { _ = try JSONTexts.actions(actions) }
    }

    func run() throws {
        var connection = try socket.connect()
        guard let name else {
            var isEmpty = true
            try connection.readPages({ .categories(after: $0) }) { page, answer in
                try StandardOutput.write(
                    try JSONTexts.lines("categories", in: answer.body).joined())
                isEmpty = isEmpty && page.categories.isEmpty
                return true
            }
            if isEmpty { StandardError.write("no categories\n") }
            return
        }
        let condition = ifRevision.map { CallCondition.revision($0) } ?? CallCondition.none
        if delete {
            try connection.call(.deleteCategory(name, app: app, condition: condition))
        } else if let actions {
            let receipt = try connection.call(
                .setCategory(
                    name, try JSONTexts.actions(actions), options: option, app: app,
                    condition: condition))
            let revision = receipt.category.revision.map { "  revision \(HumanText.count($0))" }
            try StandardOutput.write(
                "\(receipt.isCreated ? "created" : "replaced") \(name)\(revision ?? "")\n")
        } else {
            try StandardOutput.writeLine(
                try connection.answer(to: .category(name, app: app)).body)
        }
    }
}
