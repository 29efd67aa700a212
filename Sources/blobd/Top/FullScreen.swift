import Glibc

/// A terminal in full-screen mode: no scrolling, no cursor, keys at once. `end` restores it.
struct FullScreen {
    private let before: termios

    init?() {
        var mode = termios()
        guard tcgetattr(STDIN_FILENO, &mode) == 0 else { return nil }
        before = mode
        // Keys arrive one by one and are not echoed; Control-C is a key.
        mode.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
        guard tcsetattr(STDIN_FILENO, TCSANOW, &mode) == 0 else { return nil }
        write("\u{1B}[?1049h\u{1B}[?25l")
    }

    func end() {
        write("\u{1B}[?25h\u{1B}[?1049l")
        var mode = before
        tcsetattr(STDIN_FILENO, TCSANOW, &mode)
    }

    func draw(_ lines: [String]) {
        // From the top; clears each line to its end, and everything below.
        write("\u{1B}[H" + lines.joined(separator: "\u{1B}[K\r\n") + "\u{1B}[K\u{1B}[J")
    }

    /// Waits for a key.
    ///
    /// - Returns: whether the key quits: q, Control-C, Control-D.
    func isEnded(withinMilliseconds milliseconds: Int) -> Bool {
        var request = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        guard poll(&request, 1, Int32(clamping: milliseconds)) > 0 else { return false }
        var keys = [UInt8](repeating: 0, count: 64)
        let count = read(STDIN_FILENO, &keys, keys.count)
        guard count > 0 else { return true }
        return keys[..<count].contains { $0 == UInt8(ascii: "q") || $0 == 3 || $0 == 4 }
    }

    private func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = writeAll(bytes.span.bytes, to: STDOUT_FILENO)
    }
}
