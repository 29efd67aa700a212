import TestSupport
import Testing

@testable import ObjectStore

/// How long an answer to a body is waited for.
@Suite struct AnswerPatienceTests {
    @Test(
        "It doubles after each silence, to a limit, until a body as long is answered in the first time"
    )
    func doubling() {
        var limits = ObjectStoreLimits()
        limits.answerMillisecondsMax = 100_000
        let patience = AnswerPatience(limits)
        #expect(patience.milliseconds(for: 1_000) == 15_000)
        // The connection was cut.
        patience.noteSilence(after: 1_000, 3_000)
        #expect(patience.milliseconds(for: 1_000) == 15_000)
        patience.noteSilence(after: 1_000, 15_100)
        #expect(patience.milliseconds(for: 1_000) == 30_000)
        // Another one that was on its way.
        patience.noteSilence(after: 9_000, 15_100)
        #expect(patience.milliseconds(for: 1_000) == 30_000)
        patience.noteSilence(after: 1_000, 30_100)
        patience.noteSilence(after: 1_000, 60_100)
        #expect(patience.milliseconds(for: 1_000) == 100_000)
        patience.noteAnswer(after: 10, 5)
        patience.noteAnswer(after: 1_000, 40_000)
        #expect(patience.milliseconds(for: 1_000) == 100_000)
        // A short one meets a dead connection: it is not waited for so long.
        #expect(patience.milliseconds(for: 999) == 15_000)
        patience.noteAnswer(after: 1_000, 14_000)
        #expect(patience.milliseconds(for: 1_000) == 15_000)
    }

    // The same body was sent again and again, to a server that takes longer to store it.
    @Test("A server that is silent after it has got a body is given longer for the next one")
    func silent() throws {
        var limits = quickLimits
        limits.stallMilliseconds = 1_000
        limits.answerMillisecondsMax = 600_000
        let scene = try Scene(limits: limits) { request in
            request.number == 0 ? [.hold] : [.stored]
        }
        #expect(try scene.create().isUnknown)
        #expect(scene.bucket.patience.milliseconds(for: .max) == 2_000)
        #expect(try scene.create() == .created)
    }
}
