// swift-tools-version:6.2

import PackageDescription

/// As in the package above: the Swift 6 language mode, explicit imports and existentials, and no
/// warning left standing.
let common: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

/// For the targets that declare borrowed values: `@_lifetime` and `_overrideLifetime`.
let borrowing: [SwiftSetting] = common + [.enableExperimentalFeature("Lifetimes")]

/// As a C programmer would compile the baseline.
let optimised: [CSetting] = [.unsafeFlags(["-O3", "-Wall", "-Wextra", "-Werror"])]

// The dependencies of benchmarks stay here, so that a user of the package never builds them.
let package = Package(
    name: "Benchmarks",
    dependencies: [
        .package(name: "blobd", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        // Without its traits, which bring more repositories to count allocations by replacing malloc.
        // The script instructions counts them.
        .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []),
    ],
    targets: [
        // Load for a daemon, every byte of it verified: see load.
        .target(name: "CLoad"),
        .target(
            name: "LoadGenerator",
            dependencies: ["CLoad", .product(name: "BlobProtocol", package: "blobd")],
            swiftSettings: borrowing),
        .executableTarget(
            name: "load",
            dependencies: [
                "LoadGenerator",
                .product(name: "BlobClient", package: "blobd"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/Load", swiftSettings: borrowing),

        // What is measured, and the two ways to measure it: see instructions and README.md.
        .target(
            name: "CSubjects", dependencies: ["BaselineStore"], cSettings: optimised),
        .target(
            name: "Subjects",
            dependencies: [
                "CSubjects",
                .product(name: "BlobJSON", package: "blobd"),
                .product(name: "BlobStore", package: "blobd"),
                .product(name: "BlobProtocol", package: "blobd"),
                "LoadGenerator",
            ],
            swiftSettings: borrowing),
        .executableTarget(
            name: "Microbenchmarks",
            dependencies: ["Subjects", .product(name: "Benchmark", package: "benchmark")],
            path: "Benchmarks/Microbenchmarks", swiftSettings: common,
            plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]),
        .executableTarget(
            name: "subjects", dependencies: ["Subjects"], path: "Sources/SubjectRunner",
            swiftSettings: common),

        // blobd compared with its peers: see compare and README.md.
        .target(
            name: "BaselineStore", cSettings: optimised, linkerSettings: [.linkedLibrary("lmdb")]),
        .executableTarget(
            name: "baseline", dependencies: ["BaselineStore"], path: "Sources/BaselineServer",
            cSettings: optimised),
        .executableTarget(
            name: "baseline-reads", dependencies: ["BaselineStore"], path: "Sources/BaselineReads",
            cSettings: optimised),
        .executableTarget(
            name: "Compare",
            dependencies: [
                "LoadGenerator",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: borrowing),
        .executableTarget(
            name: "blobd-reads",
            dependencies: [
                .product(name: "BlobStore", package: "blobd"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/BlobReads", swiftSettings: borrowing),
        .testTarget(
            name: "LoadGeneratorTests",
            dependencies: ["LoadGenerator", .product(name: "BlobProtocol", package: "blobd")],
            swiftSettings: borrowing),
        .testTarget(
            name: "LoadTests",
            dependencies: [
                "LoadGenerator", "load", .product(name: "BlobClient", package: "blobd"),
            ],
            swiftSettings: common),
        .testTarget(
            name: "CompareTests",
            dependencies: [
                "Compare", "LoadGenerator",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: common),
    ]
)
