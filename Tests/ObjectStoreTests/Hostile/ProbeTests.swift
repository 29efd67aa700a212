import Synchronization
import TestSupport
import Testing

@testable import ObjectStore

/// The probe finds servers that do not keep what replication is built on, and takes none for one that does.
@Suite struct ProbeTests {
    private static func probe(
        _ names: Int = 3, _ racers: Int = 6, _ script: @escaping ScriptedServer.Script
    ) throws -> ProbeReport {
        let server = try ScriptedServer(script)
        return try ConditionalWriteProbe(nameCount: names, racerCount: racers).run(
            try bucket(server))
    }

    @Test("A server that keeps it is sound, and is left as it was")
    func sound() throws {
        let objects = StoredObjects()
        let report = try Self.probe(20, 8) { objects.answer($0) { _ in true } }
        #expect(report.isSound && report.soundNameCount == 20 && report.faults == [])
        #expect(objects.isEmpty)
    }

    @Test("A server that ignores the condition is refused, 100 times of 100")
    func ignoring() throws {
        for round in 0..<100 {
            let objects = StoredObjects()
            let report = try Self.probe { objects.answer($0) }
            #expect(!report.isSound && report.faultyNameCount == 3, "round \(round)")
            #expect(objects.isEmpty)
        }
    }

    @Test("A server that ignores it only in a race, or only afterwards, is refused")
    func halfHearted() throws {
        let inRace = StoredObjects()
        let race = try Self.probe { inRace.answer($0) { $0 >= 2 } }
        #expect(race.faultyNameCount == 3)
        #expect(race.faults.allSatisfy { $0.contains("2 of 6 clients created it") })
        let afterwards = StoredObjects()
        let later = try Self.probe { afterwards.answer($0) { $0 < 6 } }
        #expect(later.faults.count == 3)
        #expect(later.faults.allSatisfy { $0.contains("overwritten by a conditional create") })
        // Which says 412, and stores the bytes all the same.
        let lying = StoredObjects()
        let lies = try Self.probe { request in
            let isPut = request.method == "PUT"
            let isThere = isPut && lying.holds(request.target)
            let answer = lying.answer(request)
            return isThere ? [.error(412, "PreconditionFailed")] : answer
        }
        #expect(lies.faultyNameCount == 3)
        // Which tells everyone that it is there.
        let refusing = StoredObjects()
        let none = try Self.probe { request in
            request.method == "PUT" ? [.error(412, "PreconditionFailed")] : refusing.answer(request)
        }
        #expect(
            none.faults.allSatisfy { $0.contains("no client created it") }
                && none.faultyNameCount == 3)
    }

    @Test("Answers that are lost are no fault")
    func lostAnswers() throws {
        let seed = testSeed(18)
        let random = Mutex(SeededGenerator(seed: seed))
        let objects = StoredObjects()
        let report = try Self.probe(20, 6) { request in
            let answer = objects.answer(request) { _ in true }
            // Those of the race only: what comes later must be known.
            let isInRace = objects.putCount(of: request.target) <= 6
            return request.method == "PUT" && isInRace && random.withLock { $0.chance(30) }
                ? [.close] : answer
        }
        #expect(report.isSound && report.unknownCount > 0, "seed \(seed): \(report)")
    }

    @Test("Connections that break say nothing about conditions")
    func broken() throws {
        let objects = StoredObjects()
        for breaksAll in [true, false] {
            // Each that breaks costs all retries.
            let report = try Self.probe(1) { request in
                // All of the race, or the one after it.
                let isBroken =
                    request.method == "PUT"
                    && (breaksAll || objects.putCount(of: request.target) >= 6)
                return isBroken ? [.close] : objects.answer(request) { _ in true }
            }
            #expect(report.uncheckedNameCount == 1 && report.faultyNameCount == 0, "\(report)")
            #expect(report.refusal?.hasPrefix("conditional creates could not be checked: ") == true)
        }
    }

    @Test("A server that denies, or is not there, is an error and not a report")
    func errors() throws {
        for (code, status, expected) in [
            ("AccessDenied", 403, ObjectStoreError.Kind.denied), ("NoSuchBucket", 404, .noBucket),
        ] {
            let server = try ScriptedServer { _ in [.error(status, code)] }
            let bucket = try bucket(server)
            #expect(kind(try ConditionalWriteProbe.short.run(bucket)) == expected)
        }
    }
}
