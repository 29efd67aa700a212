// swift-tools-version:6.2

import PackageDescription

let package = Package(
    name: "RichPushBackend",
    dependencies: [
        .package(name: "blobd", path: "../.."),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
    ],
    targets: [
        .executableTarget(
            name: "RichPushBackend",
            dependencies: [
                .product(name: "BlobClient", package: "blobd"),
                .product(name: "Hummingbird", package: "hummingbird"),
            ])
    ])
