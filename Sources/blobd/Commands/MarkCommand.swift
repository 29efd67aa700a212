import ArgumentParser
import BlobClient
import BlobProtocol

/// `blobd mark`: says what a user did with a notification.
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

    @Argument(help: ArgumentHelp("The notification's id.", valueName: "id"))
    var id: String?

    @Option(help: ArgumentHelp("The group's owner.", valueName: "user"))
    var owner: String?

    @Option(help: ArgumentHelp("Mark all notifications of this group.", valueName: "name"))
    var group: String?

    @Option(help: ArgumentHelp("Only notifications of this app.", valueName: "name"))
    var app: String?

    @Flag(help: "Mark it as read.")
    var read = false

    @Flag(help: "Mark it as unread.")
    var unread = false

    @Option(
        help: ArgumentHelp("The action state.", valueName: "state"))
    var state: NotificationRecord.ActionState?

    @Option(
        help: ArgumentHelp(
            "The user's action: default (opened it), dismiss, or a button's identifier.",
            valueName: "identifier"))
    var action: String?

    @Option(
        help: ArgumentHelp(
            "The response's key: one response per key and device is recorded.", valueName: "key"))
    var key: String?

    @Flag(help: "The notification stays on screen after the action.")
    var stay = false

    @Option(
        name: .customLong("extension"),
        help: ArgumentHelp(
            "The answer of the app's content extension to the action.", valueName: "answer"))
    var contentExtension: NotificationRecord.ContentExtensionAnswer?

    @Option(
        help: ArgumentHelp(
            "Required revision. Exits with 1 if it differs.", valueName: "number")
    )
    var ifRevision: UInt64?

    @Option(help: ArgumentHelp("The device that makes the change.", valueName: "name"))
    var device: String?

    @Flag(help: "Print the notification as JSON.")
    var json = false

    @OptionGroup var socket: SocketOptions

    func validate() throws {
        let isMarking = read || unread || state != nil
        guard !(read && unread) else {
            throw ValidationError("--read and --unread exclude each other: give one of them")
        }
        if id != nil {
            guard owner == nil, group == nil, app == nil else {
                throw ValidationError("an id excludes --owner, --group and --app")
            }
        } else {
            guard owner != nil, group != nil else {
                throw ValidationError("give an id, or --owner and --group")
            }
            guard action == nil, ifRevision == nil, !json else {
                throw ValidationError("--action, --if-revision and --json need an id")
            }
        }
        guard !stay || contentExtension == nil else {
            throw ValidationError(
                "--stay and --extension exclude each other: do_not_dismiss implies --stay")
        }
        if action != nil {
            guard !isMarking, ifRevision == nil else {
                throw ValidationError(
                    "--action excludes --read, --unread, --state and --if-revision: "
                        + "the action sets the state")
            }
        } else {
            guard isMarking else {
                throw ValidationError("give --read, --unread, --state or --action")
            }
            guard key == nil, !stay, contentExtension == nil else {
                throw ValidationError("--key, --stay and --extension need --action")
            }
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
