// swift-tools-version:6.2

import PackageDescription

/// What every target of ours is compiled with: the Swift 6 language mode, the upcoming features
/// that make imports and existentials explicit, and no warning left standing.
let common: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

/// For the targets that declare borrowed values: `@_lifetime` and `_overrideLifetime`.
let borrowing: [SwiftSetting] = common + [.enableExperimentalFeature("Lifetimes")]

/// For C that the daemon runs. Not for Swift's imports of the C library, where it makes ignored
/// results errors, and protects nothing.
let fortified: [CSetting] = [
    .define("_FORTIFY_SOURCE", to: "2", .when(configuration: .release))
]

let package = Package(
    name: "blobd",
    products: [
        .library(name: "BlobJSON", targets: ["BlobJSON"]),
        .library(name: "BlobStore", targets: ["BlobStore"]),
        .library(name: "BlobProtocol", targets: ["BlobProtocol"]),
        .library(name: "BlobClient", targets: ["BlobClient"]),
        .executable(name: "blobd", targets: ["blobd"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    ],
    targets: [
        .systemLibrary(
            name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        // Its header alone: libcurl is loaded when a bucket is used, and never linked.
        .systemLibrary(name: "CCurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"])]),
        .systemLibrary(
            name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["libz-dev"])]),
        .target(name: "CChecksum", dependencies: ["CZlib"], cSettings: fortified),
        .target(name: "CLinux", cSettings: fortified),
        // Has docs/openapi.json in it.
        .target(name: "COpenAPI"),

        .target(name: "Zlib", dependencies: ["CZlib"], swiftSettings: borrowing),
        .target(
            name: "LMDB", dependencies: ["Bytes", "CLMDB", "CLinux"],
            swiftSettings: borrowing + [.strictMemorySafety()]),
        .target(name: "BlobJSON", dependencies: ["Bytes"], swiftSettings: borrowing),
        .target(name: "Bytes", swiftSettings: borrowing),
        .target(name: "Notifications", dependencies: ["Bytes"], swiftSettings: borrowing),
        .target(
            name: "Hashing", dependencies: ["CCrypto"],
            swiftSettings: common + [.strictMemorySafety()]),
        .target(
            name: "ObjectStore",
            dependencies: ["BlobJSON", "Bytes", "CCurl", "CLinux", "Hashing"],
            swiftSettings: borrowing),
        .target(
            name: "BlobStore",
            dependencies: [
                "BlobJSON", "Bytes", "LMDB", "CChecksum", "CLinux", "Hashing",
                "Notifications", "Zlib",
            ],
            swiftSettings: borrowing),
        .target(
            name: "BlobProtocol", dependencies: ["BlobJSON", "Bytes", "Hashing", "Notifications"],
            swiftSettings: borrowing),
        .target(
            name: "BlobClient",
            dependencies: [
                "BlobJSON", "BlobProtocol", "Bytes", "CLinux", "Hashing", "Notifications", "Zlib",
            ],
            swiftSettings: common),
        // Ships a store's changes to a bucket, and follows those of another host.
        .target(
            name: "Replication",
            dependencies: ["BlobJSON", "BlobStore", "Bytes", "Hashing", "ObjectStore"],
            swiftSettings: borrowing),
        .target(
            name: "BlobServer",
            dependencies: [
                "BlobJSON", "BlobStore", "BlobProtocol", "Bytes", "CLinux", "COpenAPI",
                "Hashing", "Notifications", "ObjectStore", "Replication",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: borrowing),
        .executableTarget(
            name: "blobd",
            dependencies: [
                "BlobJSON", "BlobStore", "BlobProtocol", "Bytes", "BlobClient", "BlobServer",
                "CLinux", "CYAML", "Notifications", "ObjectStore", "Replication",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: borrowing),

        // Folders, processes, seeded numbers: what tests and scenarios share.
        .target(
            name: "TestSupport", dependencies: ["CZlib"], path: "Tests/Support",
            // Libraries that are compiled when a test preloads them.
            exclude: ["moved-clock.c"], swiftSettings: common),
        // What the store's feeds should say; for a test of the suite and a scenario.
        .target(
            name: "FeedModel", dependencies: ["BlobStore", "TestSupport"], path: "Tests/FeedModel",
            swiftSettings: borrowing),
        // The other process of the store's tests.
        .executableTarget(
            name: "store-torture", dependencies: ["BlobStore", "TestSupport"],
            path: "Tests/StoreTorture", swiftSettings: common),

        // Leaders, followers and their bucket in one process, driven by a seed; see
        // Scripts/torture. The other target defines the system calls that it takes over.
        .target(name: "SimulatedSystem", path: "Tests/SimulatedSystem"),
        // Has something done between two snapshots of a store.
        .target(name: "SnapshotHook", path: "Tests/SnapshotHook"),
        .executableTarget(
            name: "blobd-simulator",
            dependencies: [
                "BlobStore", "Bytes", "Hashing", "ObjectStore", "Replication", "SimulatedSystem",
                "SnapshotHook", "TestSupport",
            ],
            path: "Tests/Simulator", swiftSettings: borrowing),

        // What one client of a bucket takes of memory and time.
        .executableTarget(
            name: "object-store-load", dependencies: ["ObjectStore"],
            path: "Tests/ObjectStoreLoad", swiftSettings: common),

        // Treats the daemon badly, scenario by scenario; see Scripts/torture. Not a product.
        .executableTarget(
            name: "blobd-torture",
            dependencies: [
                "BlobClient", "BlobJSON", "BlobProtocol", "BlobStore", "Bytes", "FeedModel",
                "Hashing", "ObjectStore", "Replication", "TestSupport",
            ],
            path: "Tests/Torture", exclude: ["Cuts/recorder.c"], swiftSettings: common),

        // The client of docs/CLIENTS.md in Swift; a test runs it beside those in other languages.
        .executableTarget(
            name: "blobd-client-example", dependencies: ["BlobClient", "BlobProtocol"],
            path: "Examples/clients/swift", swiftSettings: common),

        // The device's part of Examples/ios, and the program by which a test tries it.
        .target(
            name: "RichPush", dependencies: ["Hashing"], path: "Examples/ios/Sources/RichPush",
            swiftSettings: common),
        .executableTarget(
            name: "rich-push", dependencies: ["RichPush"], path: "Examples/ios/Sources/rich-push",
            swiftSettings: common),

        .testTarget(
            name: "BlobJSONTests", dependencies: ["BlobJSON", "TestSupport"],
            swiftSettings: borrowing),
        .testTarget(name: "HashingTests", dependencies: ["Hashing"], swiftSettings: common),
        .testTarget(
            name: "ObjectStoreTests",
            dependencies: [
                "Bytes", "Hashing", "ObjectStore", "TestSupport", "object-store-load",
            ],
            swiftSettings: borrowing),
        .testTarget(
            name: "LMDBTests", dependencies: ["LMDB", "TestSupport"], swiftSettings: borrowing),
        .testTarget(
            name: "BlobStoreTests",
            dependencies: [
                "BlobJSON", "BlobStore", "Bytes", "FeedModel", "LMDB", "Notifications",
                "TestSupport", "Zlib", "store-torture",
            ],
            swiftSettings: borrowing),
        .testTarget(
            name: "ReplicationTests",
            dependencies: [
                "BlobStore", "Bytes", "FeedModel", "Hashing", "ObjectStore", "Replication",
                "SnapshotHook", "TestSupport", "blobd",
            ],
            swiftSettings: borrowing),
        .testTarget(
            name: "BlobProtocolTests",
            dependencies: ["BlobProtocol", "Bytes", "Hashing", "Notifications", "TestSupport"],
            swiftSettings: borrowing),
        .testTarget(
            name: "BlobClientTests",
            dependencies: [
                "BlobClient", "BlobJSON", "BlobProtocol", "Bytes", "Notifications", "TestSupport",
            ],
            swiftSettings: common),
        .testTarget(
            name: "blobdTests",
            dependencies: [
                "blobd", "BlobJSON", "BlobStore", "BlobClient", "BlobProtocol", "BlobServer",
                "Bytes", "CLinux", "Notifications", "ObjectStore", "Replication",
                "TestSupport",
                "blobd-client-example", "rich-push",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: borrowing),
    ]
)
