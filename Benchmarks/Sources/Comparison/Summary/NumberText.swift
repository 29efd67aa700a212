/// Numbers as people read them.
public enum NumberText {
    /// `1 KiB`, `1 MiB`; bytes that are no whole number of either are written out.
    public static func bytes(_ count: Int) -> String {
        if count >= 1 << 20, count.isMultiple(of: 1 << 20) { return "\(count >> 20) MiB" }
        if count >= 1 << 10, count.isMultiple(of: 1 << 10) { return "\(count >> 10) KiB" }
        return "\(grouped(count)) B"
    }

    /// Three digits and a unit: `1.42 M`, `391 k`, `5.43 k`, `812`.
    public static func short(_ value: Double) -> String {
        guard value.isFinite, value >= 0, value < 1e15 else { return "–" }
        // 999,600 is 1.00 M and not 1000 k: the unit goes by the rounded value.
        if value >= 999_500_000 { return "\(threeDigits(value / 1e9)) G" }
        if value >= 999_500 { return "\(threeDigits(value / 1e6)) M" }
        if value >= 999.5 { return "\(threeDigits(value / 1e3)) k" }
        return threeDigits(value)
    }

    /// A duration: `870 ns`, `41.3 µs`, `1.24 ms`, `2.10 s`.
    public static func time(microseconds: Double) -> String {
        guard microseconds.isFinite, microseconds >= 0, microseconds < 1e15 else { return "–" }
        if microseconds >= 999_500 { return "\(threeDigits(microseconds / 1e6)) s" }
        if microseconds >= 999.5 { return "\(threeDigits(microseconds / 1e3)) ms" }
        if microseconds >= 0.9995 { return "\(threeDigits(microseconds)) µs" }
        return "\(threeDigits(microseconds * 1e3)) ns"
    }

    /// `1.34 ×`. Near `target` with as many digits, up to four, as show on which side of it it is.
    public static func ratio(_ value: Double, target: Double = 1) -> String {
        guard value.isFinite, value >= 0, value < 1e12 else { return "–" }
        if value >= max(10, target * 2) { return "\(threeDigits(value)) ×" }
        for digits in 2...4 {
            let text = fixed(value, digits)
            let shown = Double(text) ?? value
            if (shown >= target) == (value >= target) { return "\(text) ×" }
        }
        return "\(fixed(value, 4)) ×"
    }

    /// `87 %`.
    public static func percent(_ share: Double) -> String {
        guard share.isFinite, abs(share) < 1e6 else { return "–" }
        return "\(Int((share * 100).rounded())) %"
    }

    /// `1,234,567`.
    public static func grouped(_ value: Int) -> String {
        let digits = Array(String(value.magnitude))
        var text = value < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text += "," }
            text.append(digit)
        }
        return text
    }

    /// With so many digits behind the point, at most 6.
    public static func fixed(_ value: Double, _ digits: Int) -> String {
        guard value.isFinite, abs(value) < 1e12 else { return "–" }
        var scale = 1
        for _ in 0..<min(max(digits, 0), 6) { scale *= 10 }
        let scaled = Int((abs(value) * Double(scale)).rounded())
        let sign = value < 0 && scaled > 0 ? "-" : ""
        guard scale > 1 else { return sign + String(scaled) }
        let rest = String(scaled % scale)
        let zeros = String(repeating: "0", count: String(scale).count - 1 - rest.count)
        return "\(sign)\(scaled / scale).\(zeros)\(rest)"
    }

    private static func threeDigits(_ value: Double) -> String {
        if value >= 99.95 { return fixed(value, 0) }
        return fixed(value, value >= 9.995 ? 1 : 2)
    }
}
