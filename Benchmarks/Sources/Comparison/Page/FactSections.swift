/// Who took part, and what each does not do.
struct ServerSection {
    var servers: [ServerFacts]

    var html: String {
        var body = "<div class=\"cards\">\n"
        // What speaks twice, or is there in two forms, has one card.
        for facts in servers where ![.blobdHTTP, .baselineSendfile].contains(facts.server) {
            let name =
                facts.server == .baselineWritev ? "C, epoll and LMDB" : facts.server.label
            let requests = servers.filter {
                $0.server == facts.server || ($0.server == .blobdHTTP && facts.server == .blobd)
            }.map(\.request).joined(separator: " · ")
            body += """
                <article><h3>\(HTML.text(name)) <small>\(HTML.text(facts.version))</small></h3>
                <p>\(HTML.text(facts.server.doesNot))</p>
                <p><small>request</small> <code>\(HTML.text(requests))</code></p>
                <p><small>started as</small> <code>\(HTML.text(facts.command))</code></p></article>

                """
        }
        return Section(
            id: "servers", title: "What each of them does not do", findings: [], note: "",
            body: body + "</div>\n"
        ).html
    }
}

/// What the figures depend on.
struct MethodSection {
    var report: Report

    private var longSamples: String { report.method.longSamples.map { "; \($0)" } ?? "" }

    private var starts: String {
        report.method.severalStarts.map {
            "; after each \(report.method.sampleCount / $0) all servers are started and filled anew"
        } ?? ""
    }

    var html: String {
        let (machine, method) = (report.machine, report.method)
        let cores = method.serverCores.map(String.init).joined(separator: ", ")
        var facts = [
            ("Begun", machine.date),
            ("Commit", machine.commit),
            ("Processor", "\(machine.processor), \(machine.cores) cores"),
            ("Memory", "\(machine.memoryByteCount >> 20) MiB"),
            ("System", "\(machine.system), \(machine.kernel)"),
            ("Data on", machine.fileSystem),
            (
                "One sync",
                "\(NumberText.time(microseconds: machine.syncMicroseconds)), fdatasync after 4 KiB"
            ),
            ("Load average", NumberText.fixed(machine.loadAverage, 2)),
            (
                "Cores",
                """
                server on \(cores), load generator on \(method.generatorCore); of reads in process, \
                the reader on \(cores)
                """
            ),
        ]
        // The section of publishes says it of them.
        if report.hasSamples { facts += sampleFacts }
        var body = "<dl class=\"method\">\n"
        for (name, value) in facts {
            body += "<div><dt>\(HTML.text(name))</dt><dd>\(HTML.text(value))</dd></div>\n"
        }
        return Section(
            id: "method", title: "How it was measured", findings: [],
            note: """
                Compare ratios, not figures: they are of this machine on that day. Everything is \
                closed loop over Unix sockets, one generator for all, every server warm.
                """,
            body: body + "</dl>\n"
        ).html
    }

    private var sampleFacts: [(String, String)] {
        let method = report.method
        let counts = method.payloadCounts.sorted { $0.key < $1.key }.map {
            "\(NumberText.grouped($0.value)) of \(NumberText.bytes($0.key))"
        }
        return [
            (
                "Samples",
                """
                \(method.sampleCount) of each server in each cell, each of \
                \(NumberText.fixed(method.seconds, 1)) s after \
                \(NumberText.fixed(method.warmUpSeconds, 2)) s of warm-up, in an order that changes \
                from sample to sample\(starts)\(longSamples)
                """
            ),
            ("Payloads", "random bytes, drawn at random: \(counts.joined(separator: ", "))"),
            (
                "Checks",
                """
                every byte of every payload once before the samples; in them the length of \
                each answer, its first and last bytes, and every byte of one in sixteen. A wrong byte \
                ends the comparison
                """
            ),
        ]
    }
}
