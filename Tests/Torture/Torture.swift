import ArgumentParser

/// The program that treats a daemon badly and says whether it bore it.
@main
struct Torture: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "blobd-torture",
        abstract: "Treats a daemon badly, each way in a scenario of its own.",
        discussion: """
            Every scenario starts a daemon in a folder of its own, prints the seed of its \
            random choices, and ends with one line: "passed" and figures, or "failed" and what \
            was wrong. It exits with 0 or 1 accordingly, and the daemon never outlives it.
            """,
        subcommands: [
            KillScenario.self, CopiedFolderScenario.self, AbsurdBucketScenario.self,
            DamageScenario.self, ChaosScenario.self, FailoverScenario.self, BucketAwayScenario.self,
            ZombiesScenario.self,
            FollowerScenario.self, IdleShardScenario.self, SeedScenario.self,
            GarbageScenario.self,
            CrowdScenario<IdleCrowd>.self, CrowdScenario<DescriptorsCrowd>.self,
            CrowdScenario<UploadCrowd>.self, CrowdScenario<BodiesCrowd>.self,
            CrowdScenario<UnreadCrowd>.self, CrowdScenario<WaitersCrowd>.self,
            CrowdScenario<DrainingCrowd>.self, CrowdScenario<SlowCrowd>.self,
            ChurnScenario.self, FullScenario.self, SyncsScenario.self, RacesScenario.self,
            FeedScenario.self, CutsScenario.self,
            FlipsScenario.self, BackupScenario.self, RestoreCutsScenario.self, DiskScenario.self,
            LinksTimeScenario.self,
            CutCheck.self,
        ])
}
