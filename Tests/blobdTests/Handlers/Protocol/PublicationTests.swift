import BlobProtocol
import Bytes
import Notifications
import Testing

@testable import BlobServer

/// The query of a put.
@Suite struct PublicationTests {
    private func query(_ text: String) throws(ProtocolError) -> Publication {
        try Publication(EndpointQuery(Array(text.utf8).span.bytes, Publication.parameters))
    }

    private func code(_ text: String) -> ErrorCode? {
        do throws(ProtocolError) {
            _ = try query(text)
            return nil
        } catch {
            return error.code
        }
    }

    @Test("A publish query gives its values decoded")
    func publishQuery() throws {
        let result = try query("ttl=60&message=a+b%2B%26&rich_type=img&owner=u&&")
        #expect(result.lifetime == Lifetime(ttlSeconds: 60))
        let texts = result.texts
        #expect(texts.message?.text == "a b+&" && texts.richType?.text == "img")
        #expect(texts.owner?.text == "u")
        let nothing = try query("")
        #expect(nothing.lifetime == Lifetime() && nothing.texts == NotificationTexts())
        #expect(
            try query("expires_at=2026-12-01T00:00:00%2B01:00").lifetime.expiryMilliseconds
                == 1_796_079_600_000)
    }

    @Test(
        "Bad queries are refused by name",
        arguments: [
            ("ttl=0", ErrorCode.badTTL), ("ttl=-1", .badTTL), ("ttl=1.5", .badTTL),
            ("ttl=", .badTTL),
            ("ttl", .badTTL), ("ttl=1h", .badTTL), ("ttl=9223372036854775808", .badTTL),
            ("ttl=99999999999999999999", .badTTL), ("ttl=1&ttl=1", .badQuery),
            ("message=a&message=", .badQuery), ("x=1", .badQuery), ("TTL=1", .badQuery),
            ("=1", .badQuery), ("message=%4", .badQuery), ("%=1", .badQuery),
            ("message=%ff", .badMessage), ("message=%00", .badMessage), ("owner=a%0a", .badOwner),
            ("rich_type=%7f", .badRichType), ("expires_at=now", .badExpiry),
            ("ttl=1&expires_at=2026-12-01T00:00:00Z", .badExpiry),
        ])
    func badQueries(text: String, expected: ErrorCode) {
        #expect(code(text) == expected)
    }
}
