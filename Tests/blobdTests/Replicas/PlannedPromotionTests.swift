import Dispatch
import Glibc
import Synchronization
import TestSupport
import Testing

/// `blobd promote` while the leader is busy.
@Suite(.waiting, .enabled(if: ObjectServer.hasMoto, "moto cannot be installed"))
struct PlannedPromotionTests {
    /// A leader that had something to ship at every step never looked whether it was asked to hand over.
    @Test("A leader that ships all the time hands over, and loses nothing")
    func underPublishers() throws {
        let exports = try ObjectServer.shared(.moto).variables
            .map { "export \($0)='\($1)';" }.joined()
        let shard = "s3://test/planned-\(UInt64.random(in: 0...(.max)))"
        let leader = try DaemonProcess(["--replicate", shard], shell: exports)
        let follower = try DaemonProcess(["--follow", shard], shell: exports)
        let acknowledged = Mutex<[String]>([])
        let isDone = Atomic(false)
        let group = DispatchGroup()
        for publisher in 0..<8 {
            DispatchQueue(label: "publisher").async(group: group) {
                var number = 0
                while !isDone.load(ordering: .acquiring) {
                    let id = "\(publisher)-\(number)"
                    number += 1
                    let answer = try? leader.request(
                        "PUT", "/v1/notifications/\(id)/payload",
                        ["Blobd-Ack": "replicated", "Content-Type": "text/plain"],
                        body: Array(id.utf8))
                    // From then on it follows.
                    guard answer?.status == 201 else { return }
                    acknowledged.withLock { $0.append(id) }
                }
            }
        }
        defer {
            isDone.store(true, ordering: .releasing)
            group.wait()
        }
        let patience = Patience()
        while acknowledged.withLock({ $0.count }) < 50 {
            try patience.wait(orThrow: "nothing is published")
        }
        // On a busy machine a leader may not hand over in time, and is asked again.
        var answer = try follower.request("POST", "/v1/replication")
        while answer.status == 503 {
            try patience.wait(orThrow: "the leader stays: \(answer.text)")
            answer = try follower.request("POST", "/v1/replication")
        }
        #expect(answer.status == 200, "\(answer.text)\(leader.log)")
        #expect(answer.member("role") == "leader")
        group.wait()
        for id in acknowledged.withLock({ $0 }) {
            let body = try follower.request("GET", "/v1/notifications/\(id)/payload").body
            #expect(body == Array(id.utf8), "\(id) was acknowledged as replicated")
        }
        #expect(leader.stop() == 0 && follower.stop() == 0)
    }
}
