import Foundation
import TestSupport
import Testing

/// The documents' pictures have a background of their own: no colour is legible on a white page and on a dark one, too.
@Suite struct PictureTests {
    private static let folder = "\(Files.package)/docs/pictures"

    @Test(
        "Texts and lines of a picture have a contrast of at least 4.5 to what is behind them",
        arguments: try table(
            "pictures", atLeast: 8, Files.names(in: folder).filter { $0.hasSuffix(".svg") }))
    func contrast(name: String) throws {
        let picture = Files.text("\(Self.folder)/\(name)")
        // A node of Graphviz is a box with a text in it.
        let node = #/(?s)<g id="node.*?</g>/#
        let begin = picture[..<(picture.firstRange(of: node)?.lowerBound ?? picture.endIndex)]
        let first = begin.firstMatch(of: #/<(?:polygon|rect|path) [^>]*>/#)?.0
        let background = try #require(
            first?.firstMatch(of: #/fill(?:="|: )(#\w{6})/#)?.1, "it has no background")
        var pairs = picture.matches(of: node).flatMap { node in
            let box = node.0.firstMatch(of: #/<path fill="(#\w{6})"/#)?.1 ?? background
            return node.0.matches(of: #/<text[^>]* fill="(#?\w+)"/#).map { ($0.1, box) }
        }
        let rest = picture.replacing(node, with: "")
        for pattern in [
            #/<(?:text|g) [^>]*fill(?:="|: )(#\w{6})/#, #/stroke(?:="|: )(#\w{6})/#,
        ] { pairs += rest.matches(of: pattern).map { ($0.1, background) } }
        // A line in the background's colour frames another.
        pairs.removeAll { $0.0 == $0.1 }
        #expect(pairs.count > 3, "nothing was found")
        for (colour, below) in pairs {
            let (one, other) = (try Self.luminance(colour), try Self.luminance(below))
            let contrast = (max(one, other) + 0.05) / (min(one, other) + 0.05)
            #expect(contrast >= 4.5, "\(colour) on \(below)")
        }
    }

    /// The relative luminance, as WCAG 2 defines it.
    private static func luminance(_ colour: Substring) throws -> Double {
        let digits = colour == "white" ? "ffffff" : String(colour.dropFirst())
        let number = try #require(Int(digits, radix: 16), "\(colour)")
        let parts = [16, 8, 0].map { shift in
            let part = Double(number >> shift & 255) / 255
            return part <= 0.03928 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4)
        }
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    }
}
