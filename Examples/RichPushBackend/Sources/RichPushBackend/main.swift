// The backend of the classic rich push tutorial, with blobd as its store:
//
//     RichPushBackend SOCKET PORT USER:PASSWORD
//
// `play` starts one and plays two devices.

import BlobClient
import Hummingbird

let arguments = CommandLine.arguments
guard arguments.count == 4, let port = Int(arguments[2]), arguments[3].contains(":") else {
    fatalError("usage: RichPushBackend SOCKET PORT USER:PASSWORD")
}
let backend = Backend(socketPath: arguments[1])
let app = Application(
    router: backend.router(credentials: arguments[3]),
    configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)))
try await app.runService()
