// The backend of the classic rich push tutorial, with blobd as its store:
//
//     RichPushBackend SOCKET PORT PICTURE USER:PASSWORD ...
//
// PICTURE is the PNG that `POST /api/notifications` sends. README.md has the environment's variables.
// `play` starts one and plays the tutorial's devices.

import AsyncHTTPClient
import Foundation
import Hummingbird

let arguments = CommandLine.arguments
guard arguments.count >= 5, let port = Int(arguments[2]),
    let picture = FileManager.default.contents(atPath: arguments[3]),
    arguments[4...].allSatisfy({ $0.contains(":") })
else {
    fatalError("usage: RichPushBackend SOCKET PORT PICTURE USER:PASSWORD ...")
}
let environment = ProcessInfo.processInfo.environment
var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
// PushClient repeats what failed.
configuration.connectionPool.retryConnectionEstablishment = false
if let file = environment["PUSH_CA"] {
    // Tests have an authority of their own.
    configuration.tlsConfiguration = .makeClientConfiguration()
    configuration.tlsConfiguration?.trustRoots = .file(file)
}
try await HTTPClient.withHTTPClient(configuration: configuration) { http in
    let backend = Backend(
        socketPath: arguments[1], picture: Array(picture),
        try Registrations(file: environment["DEVICES"] ?? "devices.json"),
        try await Pushes(environment, http))
    let app = Application(
        router: backend.router(credentials: Array(arguments[4...])),
        configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)))
    try await app.runService()
}
