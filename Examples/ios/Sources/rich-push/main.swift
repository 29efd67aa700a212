// The device's part on a terminal, for tests and for a try without a phone:
//
//     rich-push download LINK FOLDER [BYTES_MAX [SECONDS]]
//     rich-push cancel MILLISECONDS LINK FOLDER
//     rich-push show|read|changes|respond SITE TOKEN ID|CURSOR [ACTION]
//     rich-push keep FOLDER ID ACTION        keeps a response in a file
//     rich-push send SITE TOKEN FOLDER       sends what is kept
//     rich-push sign-in SITE USER PASSWORD
//     rich-push register SITE SESSION [PUSH_TOKEN]
//     rich-push state JSON                   what a push withdraws

import Foundation
import RichPush

let words = Array(CommandLine.arguments.dropFirst())
do {
    switch (words.first, words.count) {
    case ("download", 3...5):
        guard let url = URL(string: words[1]) else { fatalError("\(words[1]) is no link") }
        var download = PayloadDownload()
        download.pauseSeconds = 0.05
        if words.count > 3 { download.byteCountMax = Int(words[3]) ?? 0 }
        if words.count > 4 { download.seconds = Double(words[4]) ?? 0 }
        let payload = try await download.run(url, into: URL(fileURLWithPath: words[2]))
        print(payload.file.lastPathComponent, payload.mediaType, payload.byteCount)
    case ("cancel", 4):
        guard let milliseconds = UInt64(words[1]), let url = URL(string: words[2]) else {
            fatalError("see the first lines of main.swift")
        }
        let download = Task {
            try await PayloadDownload().run(url, into: URL(fileURLWithPath: words[3]))
        }
        try await Task.sleep(nanoseconds: milliseconds * 1_000_000)
        download.cancel()
        print(try await download.value.file.lastPathComponent)
    case ("show"?, 4), ("read"?, 4), ("changes"?, 4), ("respond"?, 5):
        let client = DeviceClient(site: words[1], token: words[2])
        switch words[0] {
        case "show":
            let notification = try await client.notification(words[3])
            print(
                notification.message ?? "", notification.read, notification.actionState,
                try await client.buttons(of: notification).map(\.identifier).joined(separator: ","))
        case "read": try await client.markAsRead(words[3])
        case "changes":
            let page = try await client.changes(since: words[3])
            for change in page.changes { print(change.kind, change.id ?? "") }
            print("next", page.next)
        default: try await client.respond(to: words[3], action: words[4])
        }
    case ("keep", 4):
        try ResponseOutbox(folder: URL(fileURLWithPath: words[1])).add(words[3], to: words[2])
    case ("send", 4):
        try await ResponseOutbox(folder: URL(fileURLWithPath: words[3]))
            .send(with: DeviceClient(site: words[1], token: words[2]))
    case ("sign-in", 4):
        print(try await Backend(site: words[1]).signIn(user: words[2], password: words[3]))
    case ("register", 3...4):
        let pushToken = words.count > 3 ? words[3] : nil
        print(
            try await Backend(site: words[1]).register(session: words[2], pushToken: pushToken))
    case ("state", 2):
        let push = try JSONSerialization.jsonObject(with: Data(words[1].utf8)) as? [String: Any]
        let message = RichPushMessage(userInfo: push ?? [:])
        print(message?.id ?? "none", message?.state ?? "none")
    default: fatalError("see the first lines of main.swift")
    }
} catch is CancellationError {
    print("failed: cancelled")
    exit(1)
} catch {
    print("failed: \(error)")
    exit(1)
}
