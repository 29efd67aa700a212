import ArgumentParser
import BlobClient

/// Which of a user's notifications, as `history` and `changes` take it.
struct FilterOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Only of this app.", valueName: "name"))
    var app: String?

    @Flag(help: "Only what was read.")
    var read = false

    @Flag(help: "Only what was not read.")
    var unread = false

    @Option(help: ArgumentHelp("Only with this state.", valueName: "state"))
    var state: NotificationRecord.ActionState?

    @Option(help: ArgumentHelp("Only of this group.", valueName: "name"))
    var group: String?

    func validate() throws {
        guard !(read && unread) else {
            throw ValidationError("--read and --unread exclude each other: give one of them")
        }
    }

    var filter: NotificationFilter {
        NotificationFilter(
            app: app, isRead: read ? true : unread ? false : nil, actionState: state,
            group: group)
    }
}
