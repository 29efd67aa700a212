import ArgumentParser
import BlobClient
import Glibc

struct TopCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Show the daemon's activity, second by second.",
        discussion: """
            Shows requests, publishes and expiries per second, p50 and p99 of each operation, the hit rate, \
            bytes, waiting clients, the store, and the slowest requests of the last minute. Press q to quit.

              blobd top
              blobd top --once
              blobd top --once --json | jq .rates
            """)

    @Option(help: .named("seconds", "The refresh interval."))
    var interval: Double = 1

    @Flag(
        help: """
            Print one interval and exit. The default without a terminal, with TERM=dumb and with NO_COLOR.
            """)
    var once = false

    @Flag(help: "With --once: print JSON.")
    var json = false

    @OptionGroup var socket: SocketOptions

    func validate() throws {
        try require(
            (0.1...60).contains(interval), "--interval is \(interval); it must be 0.1 to 60 seconds"
        )
        try require(once || !json, "--json needs --once")
    }

    func run() throws {
        var watch = try ActivityWatch(socket)
        let title = HumanText.line(try socket.path())
        if once || !StandardOutput.takesEscapes {
            usleep(useconds_t(interval * 1e6))
            let activity = try watch.next()
            if json { return try StandardOutput.write(try activity.jsonLine()) }
            let screen = TopScreen(width: 80, height: 200)
            let lines = screen.lines(activity, history: [activity.requestRate], title: title)
            return try StandardOutput.write(lines.joined(separator: "\n") + "\n")
        }
        guard let terminal = FullScreen() else {
            throw CommandFailure(.badUsage, "standard input is not a terminal: use --once")
        }
        defer { terminal.end() }
        var history: [Double] = []
        // Shows the first figures soon.
        var pause = min(interval, 0.3)
        while !terminal.isEnded(withinMilliseconds: Int(pause * 1_000)) {
            pause = interval
            let (width, height) = StandardOutput.size
            guard width >= TopScreen.widthMin, height >= TopScreen.heightMin else {
                terminal.draw(["too small"])
                continue
            }
            do {
                let activity = try watch.next()
                history = (history + [activity.requestRate]).suffix(512)
                terminal.draw(
                    TopScreen(width: width, height: height)
                        .lines(activity, history: history, title: title))
            } catch {
                terminal.draw(["\(title): \(error)", "", "Retrying. q quits."])
                watch.forget()
            }
        }
    }
}

struct ActivityWatch: ~Copyable {
    private let socket: SocketOptions
    private let secondsMin: Double
    private var connection: BlobConnection?
    private var last:
        (statistics: DaemonStatistics, at: ContinuousClock.Instant, activity: Activity)?

    /// Connects, and takes the first reading.
    ///
    /// - Parameter secondsMin: the minimum between readings. A key or a resize requests a frame at any time, and at one
    ///   per millisecond the readings themselves would be a thousand requests a second.
    init(_ socket: SocketOptions, secondsMin: Double = 0.05) throws {
        self.socket = socket
        self.secondsMin = secondsMin
        _ = try next()
    }

    /// What happened since the last reading; the previous result if that was a moment ago.
    mutating func next() throws -> Activity {
        let begun = ContinuousClock.now
        if let last, last.at.duration(to: begun) / .seconds(1) < secondsMin {
            return last.activity
        }
        if connection == nil { connection = try socket.connect() }
        guard let now = try connection?.call(.stats) else {
            throw CommandFailure(.refused, "not connected")
        }
        let at = ContinuousClock.now
        let seconds = last.map { ($0.at.duration(to: at)) / .seconds(1) } ?? now.uptimeSeconds ?? 1
        let activity = Activity(from: last?.statistics, to: now, seconds: seconds)
        last = (now, at, activity)
        return activity
    }

    /// Reconnects at the next reading, because the daemon has gone.
    mutating func forget() {
        connection = nil
        last = nil
    }
}
