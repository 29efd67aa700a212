import Benchmark
import Measuring

let benchmarks: @Sendable () -> Void = { measure("Maintenance") }
