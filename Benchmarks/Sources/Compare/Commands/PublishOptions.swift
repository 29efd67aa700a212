import ArgumentParser
import Comparison
import LoadGenerator

/// The options of the part publishes.
struct PublishOptions: ParsableArguments {
    @Option(help: "Publishes: rounds in each cell, 1…100; 5 without it.")
    var rounds: Int?

    @Option(help: "Publishes: seconds of a round, 0.1…60; 2 without it.")
    var roundSeconds: Double?

    @Option(parsing: .upToNextOption, help: "Publishes: how many publish at once.")
    var publishers = [1, 64]

    @Option(
        name: .customLong("filesystems"), parsing: .upToNextOption,
        help: ArgumentHelp(
            """
            Publishes: on which file systems. The folder's own is used as it is, ext4 and xfs are made \
            in a file otherwise (as root). Without it: the folder's own and xfs.
            """, valueName: "name"))
    var fileSystems: [String] = []

    @Flag(
        help: """
            Publishes: make the folder's own file system in a file as well: of its disk the bytes \
            count that anybody writes.
            """)
    var inFiles = false

    @Flag(
        help: """
            Publishes: on ext4 and XFS in files in memory (/dev/shm), so that the processor is the \
            limit and not the disk. For the other parts the data is in memory too.
            """)
    var dataInMemory = false

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp(
            "Publishes: whether ids are replaced, or expire after a second.",
            valueName: "replaced|expiring"),
        transform: { name in
            guard let turnover = Turnover(rawValue: name) else {
                throw ValidationError("--ids is \(name); it is replaced, expiring or both")
            }
            return turnover
        })
    var ids: [Turnover] = [.replaced]

    /// The plan.
    ///
    /// - Parameter sizes: those that were asked for; empty: the usual ones.
    func plan(
        sizes: [Int], servers: [Server], isQuick: Bool, generatorCore: Int
    ) throws -> PublishPlan {
        let plan = PublishPlan(
            sizes: sizes.isEmpty ? PublishPlan.usualSizes : sizes.sorted(),
            publishers: publishers.sorted(), turnovers: ids,
            fileSystems: fileSystems.isEmpty ? nil : fileSystems, inFiles: inFiles,
            roundCount: rounds ?? (isQuick ? 2 : 5), seconds: roundSeconds ?? (isQuick ? 0.5 : 2),
            servers: PublishPlan.measured.filter(servers.contains), isQuick: isQuick,
            generatorCore: generatorCore)
        try RunCommand.check("--rounds", plan.roundCount, 1...100)
        try RunCommand.check("--round-seconds", plan.seconds, 0.1...60)
        for count in publishers {
            try RunCommand.check("--publishers", count, LoadLimits.connections)
        }
        return plan
    }
}
