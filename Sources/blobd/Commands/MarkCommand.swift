import ArgumentParser
import BlobClient
import BlobProtocol

struct MarkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mark",
        abstract: "Set the state of a notification or of a group, or record a response.",
        usage: """
            blobd mark <id> [--read | --unread] [--state <state>] [--if-revision <number>] ...
            blobd mark <id> --action <identifier> [--key <key>] [--stay | --extension <answer>] ...
            blobd mark --owner <user> --group <name> [--app <name>] [--read | --unread] [--state <state>] ...
            """,
        discussion: """
            All of the user's devices receive the change. Setting the same state again changes nothing.

              blobd mark 42 --read --device phone
              blobd mark 42 --state dismissed --if-revision 17
              blobd mark 42 --action yes --key 5f1c    # one response per key and device
              blobd mark 42 --action dismiss
              blobd mark 42 --action like --extension do_not_dismiss
              blobd mark --owner ann --group weekend --read
            """)

    @Argument(help: .named("id", "The notification's id."))
    var id: String?

    @Option(help: .named("user", "The group's owner."))
    var owner: String?

    @Option(help: .named("name", "Mark all notifications of this group."))
    var group: String?

    @Option(help: .named("name", "Only notifications of this app."))
    var app: String?

    @Flag(help: "Mark it as read.")
    var read = false

    @Flag(help: "Mark it as unread.")
    var unread = false

    @Option(help: .named("state", "The action state."))
    var state: NotificationRecord.ActionState?

    @Option(
        help: .named(
            "identifier",
            "default (opened it), dismiss, or a button's identifier."))
    var action: String?

    @Option(help: .named("key", "The response's key: one response per key and device is recorded."))
    var key: String?

    @Flag(help: "The notification stays on screen after the action.")
    var stay = false

    @Option(
        name: .customLong("extension"),
        help: .named("answer", "The answer of the app's content extension."))
    var contentExtension: NotificationRecord.ContentExtensionAnswer?

    @Option(help: .named("number", "Exit with 1 if the revision differs."))
    var ifRevision: UInt64?

    @Option(help: .named("name", "The device that makes the change."))
    var device: String?

    @Flag(help: "Print the notification as JSON.")
    var json = false

    @OptionGroup var socket: SocketOptions

    func validate() throws {
        let isMarking = read || unread || state != nil
        try require(!(read && unread), "--read and --unread cannot be used together")
        if id != nil {
            try require(
                owner == nil && group == nil && app == nil,
                "an id cannot be used with --owner, --group and --app")
        } else {
            try require(owner != nil && group != nil, "give an id, or --owner and --group")
            try require(
                action == nil && ifRevision == nil && !json,
                "--action, --if-revision and --json need an id")
        }
        try require(
            !stay || contentExtension == nil,
            "--stay and --extension cannot be used together: do_not_dismiss implies --stay")
        if action != nil {
            try require(
                !isMarking && ifRevision == nil,
                "--action cannot be used with --read, --unread, --state and --if-revision: "
                    + "the action sets the state")
        } else {
            try require(isMarking, "give --read, --unread, --state or --action")
            try require(
                key == nil && !stay && contentExtension == nil,
                "--key, --stay and --extension need --action")
        }
    }

    func run() throws {
        var connection = try socket.connect()
        let patch = PatchRequest(isRead: read ? true : unread ? false : nil, actionState: state)
        guard let id else {
            let receipt = try connection.call(
                .patchGroup(group ?? "", of: owner ?? "", app: app, patch, device: device))
            try StandardOutput.write(
                "changed \(HumanText.count(receipt.changedCount))"
                    + " of \(HumanText.count(receipt.matchedCount))\n")
            return
        }
        if let action {
            let response = ResponseRequest(
                action: action, key: key, staysOnScreen: stay, contentExtension: contentExtension)
            let answer: CallAnswer
            do {
                answer = try connection.answer(
                    to: .respond(to: id, response, device: device))
            } catch {
                throw KnownNames.explain(error, .unknownAction) {
                    KnownNames.actions(of: id, &connection)
                }
            }
            try report(answer, answer.status == 201 ? "recorded" : "already recorded")
        } else {
            let condition = ifRevision.map { CallCondition.revision($0) } ?? CallCondition.none
            try report(
                try connection.answer(
                    to: .patch(id, patch, device: device, condition: condition)),
                "marked")
        }
    }

    private func report(_ answer: CallAnswer, _ word: String) throws {
        guard !json else { return try StandardOutput.writeLine(answer.body) }
        let record = try NotificationRecord(document: answer.body)
        try StandardOutput.write(
            "\(word)  \(record.id)  revision \(HumanText.count(record.revision))"
                + "  \(StatCommand.state(record) ?? "unread")\n")
    }
}
