import Benchmark
import Subjects

/// The subjects, as the benchmark package runs them. Instructions are what two versions are compared by, where the
/// machine counts them; time is for the eye.
let benchmarks: @Sendable () -> Void = {
    for (group, subjects) in Subjects.all {
        for subject in subjects {
            Benchmark(
                "\(group): \(subject.name)",
                configuration: .init(
                    metrics: [.instructions, .wallClock, .throughput],
                    warmupIterations: 2,
                    scalingFactor: subject.isSlow ? .one : .kilo,
                    maxDuration: .seconds(1),
                    thresholds: [
                        .instructions: BenchmarkThresholds(
                            relative: [.p50: Double(subject.tolerancePercent)]),
                        .wallClock: BenchmarkThresholds(relative: [.p50: 50]),
                        .throughput: BenchmarkThresholds(relative: [.p50: 50]),
                    ]),
                closure: { (benchmark: Benchmark, work: Subject.Work) throws -> Void in
                    try work(benchmark.scaledIterations.count)
                },
                setup: { try subject.prepare() })
        }
    }
}
