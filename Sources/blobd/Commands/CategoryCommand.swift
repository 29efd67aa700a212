import ArgumentParser
import BlobClient

/// `blobd category`: the buttons that notifications have by default.
struct CategoryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "category",
        abstract: "Show or change categories: the default buttons of notifications.",
        usage: """
            blobd category
            blobd category <name> [--app <name>] [--actions <json> | --delete]
            """,
        discussion: """
            Without a name all of them are printed, one JSON document a line. An action has the \
            strings identifier and title, and the booleans foreground, destructive and \
            authentication_required. A category of one app goes before the one of all apps.

              blobd category invitation --actions \\
                '[{"identifier":"yes","title":"Yes"},{"identifier":"no","title":"No"}]'
              blobd category invitation
              blobd category invitation --delete
            """)

    @Argument(help: ArgumentHelp("The category's name.", valueName: "name"))
    var name: String?

    @Option(help: ArgumentHelp("The app it is for. Without it: all.", valueName: "name"))
    var app: String?

    @Option(help: ArgumentHelp("Its actions from now on, as a JSON array.", valueName: "json"))
    var actions: String?

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
        if delete {
            try connection.deleteCategory(name, app: app)
        } else if let actions {
            let isCreated = try connection.setCategory(
                name, try JSONTexts.actions(actions), app: app)
            try StandardOutput.write("\(isCreated ? "created" : "replaced") \(name)\n")
        } else {
            try StandardOutput.writeLine(try connection.categoryDocument(name, app: app))
        }
    }
}
