import Replication
import Testing

@testable import BlobServer

@Suite struct LedMaintenanceTests {
    // It was said for as long as the daemon followed.
    @Test("Why the maintenance cannot begin is said until it begins, or the lead is lost")
    func beginning() throws {
        var lead = LedMaintenance()
        var askedCount = 0
        func follow(_ epoch: UInt64) throws {
            try lead.follow(epoch) { (_) throws(ReplicationError) in
                askedCount += 1
                throw .bucket("away")
            }
        }
        try follow(0)
        #expect(askedCount == 0 && lead.problem == nil)
        for _ in 0..<2 { #expect(throws: ReplicationError.self) { try follow(3) } }
        #expect(askedCount == 2)
        #expect(lead.problem == "cannot look at the bucket: away")
        try follow(0)
        #expect(askedCount == 2 && lead.problem == nil)
    }
}
