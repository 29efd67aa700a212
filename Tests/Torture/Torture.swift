import Glibc
import TestSupport

/// The program that treats a daemon badly and says whether it bore it.
@main
enum Torture {
    private static var scenarios: [any Scenario.Type] {
        [
            KillScenario.self, CutsScenario.self, RestoreCutsScenario.self,
            ChurnScenario.self, RacesScenario.self, FeedScenario.self, GarbageScenario.self,
            LinksTimeScenario.self, FullScenario.self, FlipsScenario.self,
            CrowdScenario<IdleCrowd>.self, CrowdScenario<DescriptorsCrowd>.self,
            CrowdScenario<UploadCrowd>.self,
            CrowdScenario<UnreadCrowd>.self, CrowdScenario<WaitersCrowd>.self,
            FailoverScenario.self, ZombiesScenario.self, CopiedFolderScenario.self,
            AbsurdBucketScenario.self, DamageScenario.self, ChaosScenario.self,
            BucketAwayScenario.self, OutagesScenario.self, FollowerScenario.self,
            DistantScenario.self, DayScenario.self, IdleShardScenario.self,
            SeedScenario.self, ObjectsScenario.self,
        ]
    }

    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.first == "cuts-check" { return try CutCheck(arguments.dropFirst()).run() }
        let wanted = scenarios.first { $0.about.name == arguments.first }
        guard let scenario = wanted?.init() else { list(isAsked: arguments == ["--help"]) }
        let common = CommonSettings()
        let all = settings(of: scenario) + settings(of: common)
        if arguments.contains("--short") { for (_, setting) in all { setting.shorten() } }
        var rest = arguments.dropFirst()
        while let word = rest.popFirst() {
            let parts = word.split(separator: "=", maxSplits: 1)
            guard let name = parts.first, let (_, setting) = all.first(where: { $0.name == name })
            else { explain(scenario, all, isAsked: word == "--help") }
            let value = parts.count > 1 ? String(parts[1]) : nil
            guard let text = setting.isFlag ? value ?? "true" : value ?? rest.popFirst(),
                setting.take(text)
            else { explain(scenario, all, isAsked: false) }
        }
        exit(try scenario.run(common) ? 0 : 1)
    }

    /// Prints what there is, and exits.
    private static func list(isAsked: Bool) -> Never {
        say("Usage: blobd-torture SCENARIO [OPTIONS], or SCENARIO --help\n")
        for scenario in scenarios { say("  \(padded(scenario.about.name)) \(scenario.about.line)") }
        exit(isAsked ? 0 : 2)
    }

    /// Prints what a scenario does and what it can be told, and exits.
    private static func explain(
        _ scenario: any Scenario, _ settings: [(name: String, setting: any AnySetting)],
        isAsked: Bool
    ) -> Never {
        let about = type(of: scenario).about
        say("\(about.name): \(about.line)\n\n\(about.details)\n")
        for (name, setting) in settings {
            say("  \(padded(name, to: 28)) \(setting.help)\(setting.usual)")
        }
        exit(isAsked ? 0 : 2)
    }

    private static func padded(_ text: String, to count: Int = 14) -> String {
        text + String(repeating: " ", count: max(0, count - text.count))
    }
}
