import ArgumentParser
import BlobClient

/// A page of a list: where the next one begins, nil for the last.
protocol Paged: Sendable { var next: String? { get } }

extension CategoryList: Paged {}
extension NotificationHistory: Paged {}
extension NotificationPage: Paged {}

extension BlobConnection {
    /// Reads a list page by page.
    ///
    /// - Returns: where the list continues; nil at its end.
    @discardableResult
    mutating func readPages<Page: Paged>(
        from start: String? = nil, _ call: (String?) throws -> DaemonCall<Page>,
        take: (Page, CallAnswer) throws -> Bool
    ) throws -> String? {
        var next = start
        while true {
            let call = try call(next)
            let answer = try answer(to: call)
            let page = try call.read(answer)
            next = page.next
            guard try take(page, answer), next != nil else { return next }
        }
    }
}

struct LimitOptions: ParsableArguments {
    @Option(help: .named("count", "Maximum count. Default: all."))
    var limit: Int?

    func validate() throws {
        if let limit, limit < 1 {
            throw ValidationError("--limit is \(limit); it must be at least 1")
        }
    }
}

/// Prints a list of notifications page by page: JSON lines, or a table.
struct ListPrinter {
    private(set) var left: Int
    private var table: TextTable?
    private var isFirst = true

    init(_ limit: LimitOptions, _ table: TextTable?) {
        left = limit.limit ?? .max
        self.table = table
    }

    /// - Returns: whether more are wanted.
    mutating func print(
        count: Int, lines: () throws -> [String], rows: () -> [[String]]
    ) throws -> Bool {
        if table == nil {
            try StandardOutput.write(try lines().joined())
        } else {
            for row in rows() { table?.append(row) }
            // An empty list has titles, too.
            if isFirst || count > 0 {
                try StandardOutput.write(table?.takeText(withTitles: isFirst) ?? "")
            }
        }
        isFirst = false
        left -= count
        return left > 0
    }
}
