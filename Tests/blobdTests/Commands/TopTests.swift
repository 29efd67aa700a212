import ArgumentParser
import BlobClient
import Foundation
import TestSupport
import Testing

@testable import blobd

/// `blobd top` and `blobd stats --watch`.
@Suite(.waiting) struct TopTests {
    private func statistics(_ text: String) throws -> DaemonStatistics {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(DaemonStatistics.self, from: Data(text.utf8))
    }

    private static let before = """
        {"requests":110,"publishes":5,"expired":0,"bytes_sent":1000,"bucket_nanoseconds":[1000,2000],
        "operations":{"fetch":{"statuses":{"200":90,"404":10},"nanoseconds":1,"buckets":[100,0,0]}}}
        """
    private static let after = """
        {"requests":310,"publishes":15,"expired":4,"bytes_sent":21000,"bucket_nanoseconds":[1000,2000],
        "operations":{"fetch":{"statuses":{"200":180,"404":20,"500":2},"nanoseconds":9,"buckets":[150,49,1]},
        "publish":{"statuses":{"201":10},"nanoseconds":9,"buckets":[0,10,0]}},
        "slowest":[{"operation":"publish","status":201,"nanoseconds":2500000,"target":"PUT /x","at_ms":1}]}
        """

    @Test("Rates, shares and quantiles are those between two looks")
    func activity() throws {
        let activity = Activity(
            from: try statistics(Self.before), to: try statistics(Self.after), seconds: 2)
        #expect(activity.rates == ["fetch": 51, "publish": 5])
        #expect(activity.rate(of: "publishes") == 5 && activity.rate(of: "expired") == 2)
        #expect(activity.rate(of: "bytes_sent") == 10_000)
        // A fetch of what is missing is no error.
        #expect(activity.errorRate == 1)
        #expect(activity.hitShare == 90.0 / 102.0)
        let fetches = try #require(activity.durations["fetch"])
        #expect(fetches.counts == [50, 49, 1])
        #expect(fetches.quantile(0.5) == 1_000)
        #expect(fetches.quantile(0.99) == 2_000)
        #expect(fetches.quantile(0.25) == 500)
        // After the last bound nothing is known.
        #expect(fetches.quantile(1) == 2_000)
        #expect(Durations(bounds: [1], counts: [0, 0]).quantile(0.5) == nil)
    }

    @Test("A daemon that was started anew begins at 0")
    func restart() throws {
        let activity = Activity(
            from: try statistics(Self.after), to: try statistics(Self.before), seconds: 1)
        #expect(activity.rates == ["fetch": 100])
        #expect(activity.rate(of: "publishes") == 5)
    }

    // A resize a millisecond after the first look made one request a thousand a second.
    @Test("A frame that is asked for at once shows the figures of the last one")
    func frames() throws {
        let daemon = try DaemonProcess()
        let socket = try SocketOptions.parse(["--socket", daemon.socketPath])
        var watch = try ActivityWatch(socket, secondsMin: 3_600)
        try daemon.put("a", [1])
        let again = try watch.next()
        #expect(again.now.publishes == 0)
    }

    @Test(
        "No line is wider than the screen, and there are no more than it has",
        arguments: [
            (80, 24), (200, 50), (40, 8), (60, 12),
        ])
    func screen(width: Int, height: Int) throws {
        let activity = Activity(
            from: try statistics(Self.before), to: try statistics(Self.after), seconds: 1)
        let lines = TopScreen(width: width, height: height).lines(
            activity, history: (0..<500).map(Double.init), title: "/run/blobd/blobd.sock")
        #expect(lines.count <= height)
        #expect(lines.allSatisfy { $0.count <= width })
        #expect(lines[0].hasPrefix("blobd"))
        if height >= 24 {
            #expect(lines.contains { $0.contains("2.5 ms  publish 201  PUT /x") })
            #expect(lines.contains { $0.contains("fetch") && $0.contains("102") })
        }
    }

    @Test("What a stranger stored cannot steer the terminal")
    func control() throws {
        let text = Self.after.replacing("PUT /x", with: "\\u001b[2J\\u202ex")
        let activity = Activity(from: nil, to: try statistics(text), seconds: 1)
        let lines = TopScreen(width: 80, height: 40).lines(activity, history: [], title: "s")
        #expect(lines.allSatisfy { !$0.contains("\u{1B}") && !$0.contains("\u{202E}") })
    }
}
