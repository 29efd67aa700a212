import ArgumentParser
import BlobClient
import BlobProtocol

/// `blobd category`: the buttons that notifications have by default.
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
            Without a name all categories are printed, one JSON document per line. An action has the \
            strings identifier and title, and the booleans foreground, destructive and \
            authentication_required. A category of one app overrides the one of all apps. Each user \
            with a notification of the category gets a change of the kind category: see blobd changes.

              blobd category invitation --actions \\
                '[{"identifier":"yes","title":"Yes"},{"identifier":"no","title":"No"}]'
              blobd category invitation --actions '[]' --option custom_dismiss_action
              blobd category invitation
              blobd category invitation --delete --if-revision 17
            """)

    @Argument(help: ArgumentHelp("The category's name.", valueName: "name"))
    var name: String?

    @Option(help: ArgumentHelp("The app it is for. Default: all.", valueName: "name"))
    var app: String?

    @Option(help: ArgumentHelp("The new actions, as a JSON array.", valueName: "json"))
    var actions: String?

    @Option(
        help: ArgumentHelp(
            "How devices treat its notifications. Repeatable.", valueName: "name"))
    var option: [NotificationCategory.Option] = []

    @Option(
        help: ArgumentHelp(
            "Required revision. Exits with 1 if it differs.", valueName: "number"))
    var ifRevision: UInt64?

    @Flag(help: "Delete it. Notifications keep its name, but lose its buttons.")
    var delete = false

    @OptionGroup var socket: SocketOptions

    func validate() throws {
        guard name != nil || (app == nil && actions == nil && !delete) else {
            throw ValidationError(
                "--app, --actions and --delete need a category's name")
        }
        guard actions == nil || !delete else {
            throw ValidationError("--actions and --delete exclude each other: give one of them")
        }
        guard option.isEmpty || actions != nil else {
            throw ValidationError("--option needs --actions: they are set together")
        }
        guard ifRevision == nil || actions != nil || delete else {
            throw ValidationError("--if-revision needs --actions or --delete")
        }
        if let actions { _ = try JSONTexts.actions(actions) }
    }

    func run() throws {
        var connection = try socket.connect()
        guard let name else {
            var next: String?
            var isEmpty = true
            repeat {
                let document = try connection.answer(to: .categories(after: next)).body
                let lines = try JSONTexts.lines("categories", in: document)
                try StandardOutput.write(lines.joined())
                isEmpty = isEmpty && lines.isEmpty
                next = try JSONTexts.text("next", in: document)
            } while next != nil
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
