// swift-tools-version:6.2

import PackageDescription

// What a notification service extension needs of blobd. Add this folder to your Xcode project as a local package.
// On Linux it is built and tested as a part of blobd's own package.
let package = Package(
    name: "RichPush", platforms: [.iOS(.v16), .macOS(.v13)],
    products: [.library(name: "RichPush", targets: ["RichPush"])],
    targets: [.target(name: "RichPush", swiftSettings: [.swiftLanguageMode(.v6)])])
