import BlobProtocol
import Bytes
import Foundation
import Hashing
import TestSupport
import Testing

/// Tokens with which devices act: the boundary to the internet.
@Suite struct DeviceTokenTests {
    private static let now: Int64 = 1_800_000_000
    private static let secret = [UInt8](0..<32)
    private static let keyText = "a \(Data(secret).base64EncodedString())"
    private static let keys = try? SigningKeys(parsing: Array(keyText.utf8))

    private static func verify(
        _ text: String, _ keys: SigningKeys? = keys, now: Int64 = now
    ) throws -> DeviceToken? {
        let bytes = Array(text.utf8)
        return DeviceToken(verifying: bytes.span.bytes, now: now, keys: try #require(keys))
    }

    /// A token as any library makes it, of texts that need not be right.
    private static func token(
        _ claims: String, header: String = #"{"alg":"HS256","typ":"JWT","kid":"a"}"#,
        secret: [UInt8] = secret
    ) -> String {
        var text: [UInt8] = []
        Base64.appendURL(Array(header.utf8).span.bytes, to: &text)
        text.append(UInt8(ascii: "."))
        Base64.appendURL(Array(claims.utf8).span.bytes, to: &text)
        let code = HMAC(key: secret).code(of: text)
        text.append(UInt8(ascii: "."))
        Base64.appendURL(code.span.bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    @Test("A token says what it was made of")
    func roundTrip() throws {
        let keys = try #require(Self.keys)
        for token in [
            DeviceToken(owner: "ann", expiresAt: Self.now + 1),
            DeviceToken(
                owner: "é \"x\"", device: "phone", app: "mail", scope: .write,
                expiresAt: Self.now + 86_400),
        ] {
            let text = try token.text(keys: keys)
            #expect(try Self.verify(text) == token)
            #expect(try Self.verify(text, now: token.expiresAt - 1) == token)
            #expect(try Self.verify(text, now: token.expiresAt) == nil)
        }
    }

    /// Each with the owner `ann`.
    @Test(
        "Claims that libraries write are understood",
        arguments: [
            #"{"sub":"ann","exp":1800000001,"iat":1700000000,"jti":"1"}"#,
            #"{"sub":"ann","exp":1800000001.5}"#, #"{"exp":1.800000001e9,"sub":"ann"}"#,
            #"{"sub":"ann","exp":1800000001,"nbf":1800000000}"#,
            #"{"sub":"ann","exp":1800000001,"aud":"blobd"}"#,
            #"{"sub":"ann","exp":1800000001,"aud":["x","blobd"]}"#,
        ])
    func claims(_ claims: String) throws {
        let token = try #require(try Self.verify(Self.token(claims)))
        #expect(token.owner == "ann" && token.scope == .read && token.expiresAt == Self.now + 1)
    }

    /// `"read write"` was refused, so a token of a server that lists its scopes had none.
    @Test(
        "A scope is a list of words, of which others are ignored",
        arguments: [
            ("read", DeviceToken.Scope.read), ("write", .write), ("read write", .write),
            ("write read", .write), ("openid read profile", .read), (" read  write ", .write),
            ("read read", .read),
        ])
    func scopes(words: String, scope: DeviceToken.Scope) throws {
        let token = Self.token(#"{"sub":"ann","exp":1800000001,"scope":"\#(words)"}"#)
        #expect(try Self.verify(token)?.scope == scope)
        #expect(DeviceToken.Scope(words: scope.words) == scope)
    }

    @Test("A time in milliseconds is not signed")
    func milliseconds() throws {
        let keys = try #require(Self.keys)
        let last = WireLimits.linkExpirySecondsMax
        let token = DeviceToken(owner: "ann", expiresAt: last)
        #expect(try Self.verify(try token.text(keys: keys)) == token)
        let error = #expect(throws: ProtocolError.self) {
            try DeviceToken(owner: "ann", expiresAt: last + 1).text(keys: keys)
        }
        #expect(error?.detail.contains("253402300800; it must be in seconds since 1970") == true)
    }

    @Test(
        "Claims that are missing, past, or of another type are refused",
        arguments: [
            #"{"exp":1800000001}"#, #"{"sub":"ann"}"#, #"{"sub":"","exp":1800000001}"#,
            #"{"sub":7,"exp":1800000001}"#, #"{"sub":"..","exp":1800000001}"#,
            #"{"sub":"ann","exp":1800000000}"#, #"{"sub":"ann","exp":"1800000001"}"#,
            #"{"sub":"ann","exp":null}"#, #"{"sub":"ann","exp":1e400}"#,
            #"{"sub":"ann","exp":1e30}"#, #"{"sub":"ann","exp":1800000001,"nbf":1800000001}"#,
            #"{"sub":"ann","exp":1800000001,"nbf":"1"}"#,
            #"{"sub":"ann","exp":1800000001,"aud":"other"}"#,
            #"{"sub":"ann","exp":1800000001,"aud":[]}"#, #"{"sub":"ann","exp":1800000001,"aud":7}"#,
            #"{"sub":"ann","exp":1800000001,"scope":"admin"}"#,
            #"{"sub":"ann","exp":1800000001,"scope":"readwrite Read"}"#,
            #"{"sub":"ann","exp":1800000001,"scope":""}"#,
            // Milliseconds. The token was valid for 55,000 years.
            #"{"sub":"ann","exp":1800000001000}"#, #"{"sub":"ann","exp":253402300800}"#,
            #"{"sub":"ann","exp":1800000001,"nbf":1700000000000}"#,
            #"{"sub":"ann","exp":1800000001,"scope":["write"]}"#,
            #"{"sub":"ann","exp":1800000001,"device":""}"#,
            #"{"sub":"ann","exp":1800000001,"device":1}"#,
            #"{"sub":"ann","exp":1800000001,"app":""}"#,
            #"{"sub":"ann","exp":1800000001,"app":null}"#,
            #"{"sub":"ann","exp":1800000001,"exp":1800000002}"#, "[]", "", "{",
        ])
    func refusedClaims(_ claims: String) throws {
        #expect(try Self.verify(Self.token(claims)) == nil)
    }

    @Test(
        "Headers of other algorithms, types and keys are refused",
        arguments: [
            #"{"alg":"none","kid":"a"}"#, #"{"alg":"HS512","kid":"a"}"#,
            #"{"alg":"hs256","kid":"a"}"#, #"{"alg":"RS256","kid":"a"}"#, #"{"kid":"a"}"#,
            #"{"alg":"HS256"}"#, #"{"alg":"HS256","kid":"b"}"#, #"{"alg":"HS256","kid":1}"#,
            #"{"alg":"HS256","kid":"a","crit":["exp"]}"#,
            #"{"alg":"HS256","kid":"a","typ":"dpop"}"#,
            #"{"alg":"HS256","alg":"HS256","kid":"a"}"#, "{", "",
        ])
    func refusedHeaders(_ header: String) throws {
        let claims = #"{"sub":"ann","exp":1800000001}"#
        #expect(try Self.verify(Self.token(claims, header: header)) == nil)
        #expect(try Self.verify(Self.token(claims, header: #"{"alg":"HS256","kid":"a"}"#)) != nil)
    }

    @Test("A token of another key, too long, in padding, or of another number of pieces is refused")
    func forms() throws {
        let claims = #"{"sub":"ann","exp":1800000001}"#
        #expect(try Self.verify(Self.token(claims, secret: [UInt8](1..<33))) == nil)
        let right = Self.token(claims)
        let pieces = right.split(separator: ".")
        for wrong in [
            "", ".", "..", "...", right + ".", "." + right, right + "=", right + " ",
            "\(pieces[0]).\(pieces[1])", "\(pieces[0]).\(pieces[1]).",
            "\(pieces[0])=.\(pieces[1]).\(pieces[2])",
        ] {
            #expect(try Self.verify(wrong) == nil, "\(wrong)")
        }
        let long = #"{"sub":"ann","exp":1800000001,"x":"\#(String(repeating: "x", count: 4_096))"}"#
        #expect(try Self.verify(Self.token(long)) == nil)
        // Both keys of a change of keys verify, and a removed one does not.
        let both = try SigningKeys(
            parsing: Array("b \(String(repeating: "AB", count: 22))\n\(Self.keyText)".utf8))
        #expect(try Self.verify(right, both) != nil)
        let other = try SigningKeys(parsing: Array("b \(String(repeating: "AB", count: 22))".utf8))
        #expect(try Self.verify(right, other) == nil)
    }

    @Test("No token of which a byte is changed is valid")
    func mutations() throws {
        var random = SeededGenerator(seed: testSeed(131))
        let right = Array(Self.token(#"{"sub":"ann","exp":1800000001,"scope":"write"}"#).utf8)
        let keys = try #require(Self.keys)
        for index in right.indices {
            for change in 0..<testRounds(10) {
                var wrong = right
                switch change {
                case 0..<8: wrong[index] ^= 1 << UInt8(change)
                case 8: wrong.remove(at: index)
                default: wrong.insert(wrong[random.below(wrong.count)], at: index)
                }
                guard wrong != right else { continue }
                let isValid =
                    DeviceToken(verifying: wrong.span.bytes, now: Self.now, keys: keys) != nil
                #expect(!isValid, "\(change) at \(index)")
            }
        }
    }
}
