import Testing

@testable import LoadGenerator

/// Payloads are the same for the same seed, distinct, and as large as was asked for.
@Suite struct PayloadTests {
    @Test("A mix is the same for the same seed, and another for another", arguments: [1, 77])
    func reproducible(seed: UInt64) throws {
        let first = try LoadPayloads(.mix, count: 300, seed: seed)
        let again = try LoadPayloads(.mix, count: 200, seed: seed)
        let other = try LoadPayloads(.mix, count: 300, seed: seed + 1)
        #expect(first.slices.prefix(200) == again.slices[...])
        #expect(first.slices != other.slices)
        for index in [0, 57, 199] {
            #expect(first.item(index) == again.item(index))
            #expect(bytes(first, index) == bytes(again, index))
        }
        #expect(first.pool.prefix(1_000) != other.pool.prefix(1_000))
    }

    @Test("A mix lies within its bounds, around 60 kB, with a tail of large ones")
    func mix() throws {
        let sizes = try LoadPayloads(.mix, count: 10_000, seed: 3).slices.map(\.byteCount).sorted()
        let bounds = PayloadSizes.Mix.byteCount
        #expect(sizes.allSatisfy { bounds.contains($0) })
        #expect((55_000...65_000).contains(sizes[5_000]), "median \(sizes[5_000])")
        // One standard deviation, a factor of e^1.2, has 16 percent on either side.
        #expect((160_000...240_000).contains(sizes[8_400]), "84 % \(sizes[8_400])")
        #expect((15_000...22_000).contains(sizes[1_600]), "16 % \(sizes[1_600])")
        #expect(sizes[9_999] > 1 << 20)
    }

    @Test("Sizes and numbers out of bounds are named", arguments: [0, -1, (64 << 20) + 1, .max])
    func bounds(size: Int) {
        let failure = #expect(throws: LoadFailure.self) {
            try LoadPayloads(.fixed(size), count: 16, seed: 1)
        }
        #expect(failure?.reason == .options)
        #expect(failure?.description.contains("\(size) bytes") == true)
        let count = #expect(throws: LoadFailure.self) {
            try LoadPayloads(.mix, count: 100_001, seed: 1)
        }
        #expect(count?.description.contains("100001") == true)
    }

    @Test("Each option out of its bounds is named with its value and the limit")
    func options() {
        func words(_ change: (inout LoadOptions) -> Void) -> String {
            var options = LoadOptions(socketPath: "s")
            change(&options)
            do throws(LoadFailure) {
                try options.validate()
                return ""
            } catch {
                return error.description
            }
        }
        #expect(words { _ in } == "")
        #expect(words { $0.connections = 0 } == "connections is 0; it must be 1 to 8192")
        #expect(words { $0.depth = 1_025 } == "requests in flight is 1025; it must be 1 to 1024")
        #expect(words { $0.readPercent = 101 } == "percent of reads is 101; it must be 0 to 100")
        #expect(words { $0.rate = 0 }.hasPrefix("requests per second is 0.0; it must be 1.0 to "))
        #expect(words { $0.rate = .nan }.hasPrefix("requests per second is nan; it must be"))
        #expect(words { $0.seconds = .infinity }.hasPrefix("seconds is inf; it must be"))
        #expect(words { $0.warmUpSeconds = -1 }.hasPrefix("seconds of warm-up is -1.0; it must be"))
        #expect(words { $0.watchers = -1 } == "number of watchers is -1; it must be 0 to 8192")
        for change in [{ $0.depth = 2 }, { $0.rate = 5 }, { $0.watchers = 1 }]
            as [(inout LoadOptions) -> Void]
        {
            #expect(
                words {
                    $0.pairs = true
                    change(&$0)
                }.hasPrefix("pairs and watchers exclude"))
        }
        #expect(words { $0.core = -1 } == "core is -1; it must be 0 to 1023")
    }
}
