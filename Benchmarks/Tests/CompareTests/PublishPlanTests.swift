import ArgumentParser
import Testing

@testable import Compare

@Suite struct PublishPlanTests {
    private func plan(_ arguments: String...) throws -> PublishPlan {
        let options = ["--folder", "/f", "--blobd", "/b", "--repository", "/r"]
        return try Compare.parse(options + arguments).makePublishPlan(0)
    }

    @Test func eachOperationHasItsCells() throws {
        let plan = try plan("--parts", "pairs", "events", "publishes")
        let cells = plan.cells(on: "ext4", isFurther: false)
        func of(_ operation: Operation) -> [PublishCell] {
            cells.filter { $0.operation == operation }
        }
        #expect(of(.pair).count == 18 && of(.pair).count { $0.hasOwners } == 9)
        #expect(of(.pair).allSatisfy { $0.turnover == .new })
        #expect(of(.event).map(\.connections) == [1, 16, 256])
        #expect(of(.event).allSatisfy { $0.hasOwners && $0.byteCount == 1_024 })
        #expect(of(.publish).count == 12 && of(.publish).count { $0.turnover == .new } == 6)
        // Who named no file system gets publishes alone on a second one.
        let further = plan.cells(on: "xfs", isFurther: true)
        #expect(further.count == 12 && further.allSatisfy { $0.operation == .publish })
    }

    @Test func withoutBusyPollingItTakesPartWhereItWaits() throws {
        let plan = try plan("--parts", "pairs", "--servers", "blobd", "blobd-spin-0")
        for cell in plan.cells(on: "ext4", isFurther: false) {
            #expect(plan.servers(cell).contains(.blobdSpin0) == (cell.connections < 64))
        }
    }

    @Test func theFloorTakesPartWhereItCan() throws {
        let with = try plan(
            "--parts", "pairs", "events", "publishes", "--ids", "expiring", "--floor", "floor",
            "once=1")
        let cells = with.cells(on: "ext4", isFurther: false)
        #expect(cells.allSatisfy { with.servers($0).contains(.floor) == ($0.operation == .pair) })
        #expect(try !plan("--parts", "pairs").servers.contains(.floor))
    }

    @Test func whatIsStoredBeforeIsWhole() throws {
        #expect(try plan("--stored", "0", "1000000").stored == [0, 1_000_000])
        #expect(throws: (any Error).self) { try plan("--stored", "1500") }
    }
}
