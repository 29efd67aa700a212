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
            Without a name all of them are printed, one JSON document a line. An action has the \
            strings identifier and title, and the booleans foreground, destructive and \
            authentication_required. A category of one app goes before the one of all apps. Users \
            with a notification of the category hear of a change: blobd changes prints it as a \
            line of the kind category.

              blobd category invitation --actions \\
                '[{"identifier":"yes","title":"Yes"},{"identifier":"no","title":"No"}]'
              blobd category invitation --actions '[]' --option custom_dismiss_action
              blobd category invitation
              blobd category invitation --delete --if-revision 17
            """)

    @Argument(help: ArgumentHelp("The category's name.", valueName: "name"))
    var name: String?

    @Option(help: ArgumentHelp("The app it is for. Without it: all.", valueName: "name"))
    var app: String?

    @Option(help: ArgumentHelp("Its actions from now on, as a JSON array.", valueName: "json"))
    var actions: String?

    @Option(
        help: ArgumentHelp(
            "How devices treat its notifications; more than once for several.", valueName: "name"))
    var option: [NotificationCategory.Option] = []

    @Option(
        help: ArgumentHelp(
            "Only if this is its revision; otherwise exit with 1.", valueName: "number"))
    var ifRevision: UInt64?

    @Flag(help: "Remove it. Notifications keep its name, and have no buttons of it.")
    var delete = false

    @OptionGroup var socket: SocketOptions

    func validate() throws {
        guard name != nil || (app == nil && actions == nil && !delete) else {
            throw ValidationError(
                "--app, --actions and --delete are for one category: give its name")
        }
        guard actions == nil || !delete else {
            throw ValidationError("--actions and --delete exclude each other: give one of them")
        }
        guard option.isEmpty || actions != nil else {
            throw ValidationError("--option comes with --actions: they are set together")
        }
        guard ifRevision == nil || actions != nil || delete else {
            throw ValidationError("--if-revision is for --actions and --delete")
        }
        if let actions { _ = try JSONTexts.actions(actions) }
    }

    func run() throws {
        var connection = try socket.connect()
        guard let name else {
            var next: String?
            repeat {
                let document = try connection.categoriesDocument(after: next)
                try StandardOutput.write(JSONTexts.lines("categories", in: document).joined())
                next = try JSONTexts.text("next", in: document)
            } while next != nil
            return
        }
        let condition = ifRevision.map { CallCondition.revision($0) } ?? CallCondition.none
        if delete {
            try connection.deleteCategory(name, app: app, condition: condition)
        } else if let actions {
            let receipt = try connection.setCategory(
                name, try JSONTexts.actions(actions), options: option, app: app,
                condition: condition)
            let revision = receipt.category.revision.map { "  revision \(HumanText.count($0))" }
            try StandardOutput.write(
                "\(receipt.isCreated ? "created" : "replaced") \(name)\(revision ?? "")\n")
        } else {
            try StandardOutput.writeLine(try connection.categoryDocument(name, app: app))
        }
    }
}
