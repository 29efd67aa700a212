/// What each chart shows, in a sentence that is made from its figures.
enum Findings {
    static func overview(_ verdicts: [FetchVerdicts]) -> String {
        sentence(
            verdicts.compactMap(\.peer), subject: "blobd's binary protocol",
            ahead: "gives more answers than the fastest peer", behind: "falls short of it")
    }

    static func http(_ verdicts: [FetchVerdicts]) -> String {
        sentence(
            verdicts.compactMap(\.nginx), subject: "Over HTTP, blobd",
            ahead: "gives at least as many answers as nginx with sendfile",
            behind: "falls short of it")
    }

    static func baseline(_ verdicts: [FetchVerdicts]) -> String {
        let ratios = verdicts.compactMap(\.baseline)
        guard let least = least(ratios), let most = most(ratios) else { return "" }
        return """
            It reaches \(range(least, most)) what a C program does that only sends the same bytes \
            from the same file.
            """
    }

    static func latency(_ verdicts: [FetchVerdicts]) -> String {
        let all = verdicts.compactMap(\.latency)
        guard let least = least(all) else { return "" }
        let met = all.count(where: \.isMet)
        if met == all.count {
            return "99 of 100 answers come no later than the quickest peer's in all \(met) cells."
        }
        return """
            99 of 100 answers come no later than the quickest peer's in \(met) of \(all.count) \
            cells; furthest from it is \(least.place), where they take \
            \(NumberText.ratio(1 / least.ratio)) as long as \(least.other)'s.
            """
    }

    static func serverTime(_ cells: [CellSummary]) -> String {
        let pairs = cells.compactMap { cell -> (cell: CellSummary, share: Double, peer: Server)? in
            let peers = cell.those(.peer).filter { $0.serverTime != nil }
            guard let own = cell[.blobd]?.serverTime,
                let best = peers.min(by: {
                    ($0.serverTime?.median ?? 0) < ($1.serverTime?.median ?? 0)
                }), let other = best.serverTime, other.median > 0
            else { return nil }
            return (cell, own.median / other.median, best.server)
        }
        guard let most = pairs.max(by: { $0.share < $1.share }),
            let least = pairs.min(by: { $0.share < $1.share })
        else { return "" }
        return """
            For one answer blobd uses between \(NumberText.ratio(least.share)) \
            (\(NumberText.bytes(least.cell.cell.byteCount)), against \(least.peer.label)) and \
            \(NumberText.ratio(most.share)) (\(NumberText.bytes(most.cell.cell.byteCount)), against \
            \(most.peer.label)) the processor time of the thriftiest peer.
            """
    }

    /// What the panels of rates show beside the ratios: how many bytes that is.
    static func fastestSize(_ cells: [CellSummary]) -> String {
        let bytes = cells.compactMap { cell in
            cell[.blobd].map { (cell.cell, $0.rate.median * Double(cell.cell.byteCount)) }
        }
        let rates = cells.compactMap { cell in cell[.blobd].map { (cell.cell, $0.rate.median) } }
        guard let most = bytes.max(by: { $0.1 < $1.1 }), let rate = rates.max(by: { $0.1 < $1.1 })
        else { return "" }
        return """
            One worker of blobd gives up to \(NumberText.short(rate.1)) answers a second \
            (\(rate.0.label)), and up to \(NumberText.fixed(most.1 / 1e9, 1)) GB a second \
            (\(most.0.label)).
            """
    }

    static func reads(_ report: Report) -> String {
        let all = ReadSummary.all(report)
        guard let own = all.first(where: { $0.reader == .withPayload }), let verdict = own.verdict
        else { return "" }
        var text = """
            In its own process a program finds \(NumberText.short(own.rate.median)) payloads a \
            second, \(NumberText.ratio(verdict.ratio, target: verdict.target)) what C does with two \
            mdb_get
            """
        if let socket = fastestSocket(report) {
            text += """
                , and \(NumberText.ratio(own.rate.median / socket.rate.median)) what the fastest \
                peer, \(socket.server.label), gives one connection
                """
        }
        return text + "."
    }

    /// The peer that answers one connection fastest, of payloads of the size read in process.
    static func fastestSocket(_ report: Report) -> ServerSummary? {
        CellSummary.all(report.fetches).first {
            $0.cell.byteCount == report.readByteCount
                && $0.cell.load == Load(connections: 1, inFlight: 1)
        }?.fastestPeer
    }

    private static func sentence(
        _ verdicts: [Verdict], subject: String, ahead: String, behind: String
    ) -> String {
        guard let least = least(verdicts), let most = most(verdicts) else { return "" }
        let met = verdicts.count(where: \.isMet)
        if met == verdicts.count {
            let count = met == 1 ? "the one cell" : "all \(met) cells"
            return """
                \(subject) \(ahead) in \(count): from \(described(least)) to \(described(most)).
                """
        }
        return """
            \(subject) \(ahead) in \(met) of \(verdicts.count) cells, at best \(described(most)); it \
            \(behind) most at \(described(least)).
            """
    }

    private static func described(_ verdict: Verdict) -> String {
        "\(NumberText.ratio(verdict.ratio)) \(verdict.other) (\(verdict.place))"
    }

    private static func range(_ least: Verdict, _ most: Verdict) -> String {
        let low = NumberText.ratio(least.ratio, target: least.target)
        let high = NumberText.ratio(most.ratio, target: most.target)
        return low == high ? low : "between \(low) (\(least.place)) and \(high) (\(most.place)) of"
    }

    private static func least(_ verdicts: [Verdict]) -> Verdict? {
        verdicts.min { $0.ratio < $1.ratio }
    }

    private static func most(_ verdicts: [Verdict]) -> Verdict? {
        verdicts.max { $0.ratio < $1.ratio }
    }
}
