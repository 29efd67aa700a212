// The backend of the classic rich push tutorial, with blobd as its store:
//
//     RichPushBackend SOCKET PORT PICTURE USER:PASSWORD ...
//
// PICTURE is the PNG that `POST /api/notifications` sends. `play` starts one and plays the tutorial's
// devices.

import BlobClient
import Foundation
import Hummingbird

let arguments = CommandLine.arguments
guard arguments.count >= 5, let port = Int(arguments[2]),
    let picture = FileManager.default.contents(atPath: arguments[3]),
    arguments[4...].allSatisfy({ $0.contains(":") })
else {
    fatalError("usage: RichPushBackend SOCKET PORT PICTURE USER:PASSWORD ...")
}
let backend = Backend(socketPath: arguments[1], picture: Array(picture))
let app = Application(
    router: backend.router(credentials: Array(arguments[4...])),
    configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)))
try await app.runService()
