import ArgumentParser
import BlobClient

/// Which of a user's notifications, as `history` and `changes` take it.
struct FilterOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Only notifications of this app.", valueName: "name"))
    var app: String?

    @Flag(help: "Only read notifications.")
    var read = false

    @Flag(help: "Only unread notifications.")
    var unread = false

    @Option(help: ArgumentHelp("Only notifications with this action state.", valueName: "state"))
    var state: NotificationRecord.ActionState?

    @Option(help: ArgumentHelp("Only notifications of this group.", valueName: "name"))
    var group: String?

    @Option(
        help: ArgumentHelp("Only notifications for this platform, or for all.", valueName: "name"))
    var platform: String?

    @Option(
        help: ArgumentHelp("Only notifications for this host, or for all.", valueName: "host"))
    var targetHost: String?

    @Option(
        help: ArgumentHelp(
            "active: notifications that are there. deleted: what is remembered of deleted and expired ones; only --app goes with it.",
            valueName: "status"))
    var status: NotificationFilter.Status?

    func validate() throws {
        guard !(read && unread) else {
            throw ValidationError("--read and --unread exclude each other: give one of them")
        }
    }

    var filter: NotificationFilter {
        var filter = NotificationFilter(
            app: app, isRead: read ? true : unread ? false : nil, actionState: state,
            group: group, platform: platform, targetHost: targetHost)
        filter.status = status
        return filter
    }
}
