import Benchmark
import Subjects

/// Registers the subjects of a group with the benchmark package.
///
/// Instructions are what is compared between two versions, where the machine counts them; time is
/// for the eye.
public func measure(_ group: String) {
    for subject in Subjects.all.first(where: { $0.group == group })?.subjects ?? [] {
        Benchmark(
            subject.name,
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
