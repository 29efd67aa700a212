"""The tables of a report as Markdown: for the terminal, and for a document."""

from summary import *


def tables(report):
    parts = [facts(report), fetches(report), publishes(report.get("publishes", {})), read_table(report), worker_table(report)]
    return "\n".join(part for part in parts if part)


def table(header, rows):
    def line(cells):
        return f"| {' | '.join(cells)} |\n"

    return line(header) + f"|{'---|' * len(header)}\n" + "".join(map(line, rows))


def facts(report):
    machine, method = report["machine"], report["method"]
    text = machine_text(machine)
    if "loadAverage" in machine:
        text += f", load average {machine['loadAverage']:.1f} when it began"
    text += ". "
    # Publishes have rounds instead of samples.
    if report.get("fetches") or report.get("reads") or report.get("workers"):
        text += f"Medians of {method['sampleCount']} alternating samples of {method['seconds']:.1f} s"
        if method.get("starts", 1) > 1:
            text += f" in {method['starts']} starts of all servers"
        if "longSampleCount" in method:
            text += f" (workers: {method['longSampleCount']} of {method['longSeconds']:.1f} s)"
        text += ". "
    everyone = {one["server"]: one for one in report.get("publishes", {}).get("servers", []) + report.get("servers", [])}
    versions = [f"{label(server)} {everyone[server]['version']}"
                for server in SERVERS if server in everyone and role(server) == "peer"]
    text += "Server and load generator each on a core of its own; Unix sockets. blobd with its default spin, unless it says 0."
    return f"{text} {', '.join(versions)}.\n" if versions else f"{text}\n"


def machine_text(machine):
    text = (f"{machine['processor']}, {machine['cores']} cores, {machine['kernel']}, {machine['fileSystem']}, "
            f"{machine['date'][:10]}")
    return f"{text}, blobd {machine['commit']}" if "commit" in machine else text


def fetches(report):
    cells = fetch_cells(report.get("fetches", []))
    if not cells:
        return ""
    servers = [server for server in SERVERS if any(server in cell.servers for cell in cells)]

    def rate(cell, server):
        if server not in cell.servers:
            return "–"
        text = short(cell.servers[server].rate.median)
        return f"**{text}**" if server == "blobd" else text

    start = ["size", "connections × in flight"]
    starts = [[byte_text(cell.byte_count), load_text(cell.load)] for cell in cells]
    rates = table(
        start + [label(server) for server in servers],
        [row + [rate(cell, server) for server in servers] for row, cell in zip(starts, cells)])
    verdicts = [cell.verdicts() for cell in cells]
    return rates + "\n" + table(
        start + list(verdicts[0]), [row + [mark(one) for one in some.values()] for row, some in zip(starts, verdicts)])


def mark(verdict):
    if verdict is None:
        return "–"
    other = label(verdict.other) if verdict.other in SERVERS else verdict.other
    return f"{'✓' if verdict.is_met else '✗'} {ratio_text(verdict.ratio, verdict.target)} ({other})"


def rounds_text(ratio):
    return f"{ratio_text(ratio.median)} ({ratio.least:.2f}–{ratio.most:.2f})" if ratio else "–"


def publishes(report):
    groups = publish_groups(report.get("samples", []))
    return "\n".join([publish_method(report) + "\n"] + [group_tables(group) for group in groups]) if groups else ""


def publish_method(report):
    text = f"Durable publishes: {report['roundCount']} alternating rounds of {report['seconds']:.1f} s."
    counts = sorted((int(size), count) for size, count in report["replacedIDs"].items())
    if counts:
        fixed = ", ".join(f"{count:,} of {byte_text(size)}" for size, count in counts)
        text += f" ids replaced: a fixed set ({fixed}), of which every one was replaced before the first round."
    if any(sample["cell"]["turnover"] == "expiring" for sample in report["samples"]):
        text += " ids expiring: each a second after it came, as many a second as come."
    if any(sample["cell"]["turnover"] == "new" for sample in report["samples"]):
        text += " ids new: no id twice, and new servers in each round."
    if any(sample["cell"]["operation"] == "pair" for sample in report["samples"]):
        text += " pairs: a publish, and its fetch over the same connection; redis with SET and GET."
    if any(sample["cell"]["operation"] == "event" for sample in report["samples"]):
        text += (" events: from sending a publish until each watcher of its owner has its id; the next publish follows"
                 " when all have; redis with MULTI, XADD, SET, EXEC, and XREAD BLOCK.")
    storages = ". ".join(
        f"{one['fileSystem']}: {one['device']}, a sync of 4 KiB takes {time_text(one['syncMicroseconds'])}"
        for one in report["storages"])
    text += (" Ratios: the median of the rounds, the least and the most. Latencies: medians of the rounds. Processor time: all "
             "processes of the server, in all rounds. Bytes written: those of the device until all was synced, in all "
             f"rounds. {storages}.")
    omissions = report.get("omissions")
    return f"{text} Left out: {'; '.join(omissions)}." if omissions else text


def group_tables(group):
    servers = [server for server in SERVERS if any(server in cell.servers for cell in group.cells)]
    subjects = [server for server in servers if role(server) == "subject"]
    one, many, connections = OPERATIONS[group.operation]

    def block(title, server_text, compared=(), ratio_title=None, ratio=None):
        """`ratio` of a cell and what is compared is more than 1 when the subject is better."""
        return table(
            [title, connections, *map(label, servers), *(ratio_title.format(*map(label, some)) for some in compared)],
            [[byte_text(cell.byte_count), str(cell.connections)]
             + [server_text(cell.servers[server]) if server in cell.servers else "–" for server in servers]
             + [ratio(cell, *some) for some in compared] for cell in group.cells])

    def ahead(cell, server, other):
        ratio = cell.ratio(server, other)
        target = PEER_RATIO_MIN if other == "redis" else FLOOR_RATIO_MIN
        return f"{'✓' if ratio.median >= target else '✗'} {rounds_text(ratio)}" if ratio else "–"

    with_redis = [(server, "redis") for server in subjects]
    # The floor speaks HTTP.
    with_floor = [(server, "floor") for server in subjects if "http" in server and "floor" in servers]

    def latencies(kind):
        def text(figures):
            values = [figures.latency(kind, percentile) for percentile in ("p50", "p99")]
            return "–" if None in values else ", ".join(map(time_text, values))

        return block(f"{kind}: p50, p99", text, with_redis, "{1}'s p50 / {0}'s",
                     lambda cell, server, _: rounds_text(cell.latency_ratio(server, kind)))

    kinds = [kind for kind in PublishFigures.KINDS
             if any(figures.latencies[kind] for cell in group.cells for figures in cell.servers.values())]
    blocks = [
        block(f"{group.title}: {many} a second", lambda figures: short(figures.rate.median),
              with_redis + with_floor, "{} / {}", ahead),
        *map(latencies, kinds),
        block(f"processor time a {one}, user + kernel", publish_time_text, with_redis, "{1} / {0}",
              lambda cell, server, _: rounds_text(cell.time_ratio(server))),
        block("bytes written a byte published",
              lambda figures: "–" if figures.bytes_written is None else f"{figures.bytes_written:.2f}"),
    ]
    verdicts = [publish_verdict(group, server) for server in subjects]
    return "\n".join(filter(None, blocks + ["".join(f"* {verdict}\n" for verdict in verdicts if verdict)]))


def publish_time_text(figures):
    if figures.time is None:
        return "–"
    user, kernel = (f"{value:.1f}" if value < 99.95 else f"{value:.0f}" for value in (figures.user, figures.kernel))
    return f"{user} + {kernel} µs"


def publish_verdict(group, server):
    """In which cells a dialect is ahead of redis, and in which not, in a sentence with every ratio."""
    ratios = [(f"{byte_text(cell.byte_count)} × {cell.connections}", cell.ratio(server)) for cell in group.cells]
    held = [(cell, ratio) for cell, ratio in ratios if ratio]
    if not held:
        return None

    def listed(is_ahead):
        return ", ".join(f"{cell} {rounds_text(ratio)}" for cell, ratio in held if (ratio.median >= 1) == is_ahead)

    count = sum(ratio.median >= 1 for _, ratio in held)
    cells = "the one cell" if count == len(held) == 1 else \
        f"{'all' if count == len(held) else f'{count} of'} {len(held)} cells"
    ahead, behind = listed(True), listed(False)
    return (f"{group.title}: {label(server)} is ahead of redis in {cells}"
            f"{': ' + ahead if ahead else ''}{'; behind: ' + behind if behind else ''}.")


def read_table(report):
    rows = [[READERS[reader][0], short(rate.median), "–" if instructions is None else f"{instructions:,.0f}",
             mark(verdict)] for reader, rate, instructions, verdict in reads(report)]
    return table(["in process", "reads/s", "instructions a read", "against C"], rows) if rows else ""


def worker_table(report):
    rows, gains = [], ""
    for (size, load), figures in workers(report):
        cell = f"{byte_text(size)}, {load_text(load)}"
        for count, one in figures.items():
            rows.append([str(count), cell, short(one.rate.median), f"{one.server_cores.median:.2f}",
                         f"{one.generator_cores.median:.2f}"])
        both = gain(figures, report["machine"]["cores"])
        if both:
            gains += (f"* {cell}: {max(figures)} workers give {ratio_text(both[0])} the answers of {min(figures)}. With "
                      f"the generator's part the {report['machine']['cores']} cores allow {ratio_text(both[1])}.\n")
    header = ["workers", "cell", "answers/s", "server's cores", "generator's cores"]
    return table(header, rows) + (f"\n{gains}" if gains else "") if rows else ""
