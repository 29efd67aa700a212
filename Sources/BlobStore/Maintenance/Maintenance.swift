/// What keeps a store small and sound beside the changes that are asked for: sweeping what has
/// expired, freeing what nothing refers to, looking for room. Each step is one bounded transaction of
/// the pipeline.
struct Maintenance: Sendable {
    let core: StoreCore
    let pipeline: CommitPipeline
}
