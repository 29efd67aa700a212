// swift-tools-version:6.2

import PackageDescription

let package = Package(
    name: "RichPushBackend",
    dependencies: [
        .package(name: "blobd", path: "../.."),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.0.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.30.0"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.3.0"),
    ],
    targets: [
        .executableTarget(
            name: "RichPushBackend",
            dependencies: [
                .product(name: "BlobClient", package: "blobd"),
                .product(name: "BlobProtocol", package: "blobd"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "JWTKit", package: "jwt-kit"),
            ])
    ])
