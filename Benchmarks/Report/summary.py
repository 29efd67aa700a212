"""What the samples of a report.json come to: medians, ratios, and whether each target is met."""

import statistics
from dataclasses import dataclass

# The servers in the order of tables: how report.json names each, what tables and charts call it, and its role.
SERVERS = {
    "blobd": ("blobd", "subject"),
    "blobd-http": ("blobd HTTP", "subject"),
    "blobd-spin-0": ("blobd, spin 0", "subject"),
    "blobd-http-spin-0": ("blobd HTTP, spin 0", "subject"),
    "memcached": ("memcached", "peer"),
    "redis": ("redis", "peer"),
    "nginx": ("nginx", "peer"),
    "varnish": ("varnish", "peer"),
    "c-writev": ("C writev", "baseline"),
    "c-sendfile": ("C sendfile", "baseline"),
    "floor": ("floor", "baseline"),
}

# What is done with durable publishes: what tables call it, and its connections.
OPERATIONS = {
    "publish": ("publish", "publishes", "publishers"),
    "pair": ("pair", "pairs", "connections"),
    "event": ("publish", "publishes", "watchers"),
}

# Ways to read in process: what tables call each, and the C program that it is held against.
READERS = {
    "c-renewed": ("C, two mdb_get", None),
    "withPayload": ("withPayload", "c-renewed"),
    "c-held": ("C, held view", None),
    "withSnapshot": ("withSnapshot", "c-held"),
}

# Targets: the least ratios that meet them.
PEER_RATIO_MIN = 1
BASELINE_RATIO_MIN = 0.9
READ_RATIO_MIN = 0.8
FLOOR_RATIO_MIN = 0.8
# From this size up HTTP is held against every peer, and below it only against nginx.
HTTP_BYTE_COUNT_MIN = 16 << 10


def label(server):
    return SERVERS[server][0]


def role(server):
    return SERVERS[server][1]


# Numbers as people read them.

def byte_text(count):
    for size, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= size and count % size == 0:
            return f"{count // size} {unit}"
    return f"{count:,} B"


def three_digits(value):
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def short(value):
    """Three digits and a unit: `1.42 M`. The unit goes by the rounded value: 999,600 is `1.00 M`."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= 0.9995 * size:
            return f"{three_digits(value / size)} {unit}"
    return three_digits(value)


def time_text(microseconds):
    for size, unit in ((1e6, "s"), (1e3, "ms"), (1, "µs")):
        if microseconds >= 0.9995 * size:
            return f"{three_digits(microseconds / size)} {unit}"
    return f"{three_digits(microseconds * 1e3)} ns"


def ratio_text(value, target=1):
    """`1.34 ×`, with as many digits, up to four, as show on which side of the target it is."""
    if value >= max(10, 2 * target):
        return f"{three_digits(value)} ×"
    for digits in (2, 3, 4):
        text = f"{value:.{digits}f}"
        if (float(text) >= target) == (value >= target):
            break
    return f"{text} ×"


# Summaries.

@dataclass
class Spread:
    median: float
    least: float
    most: float


def spread(values):
    """None when no sample says it."""
    values = [value for value in values if value is not None]
    return Spread(statistics.median(values), min(values), max(values)) if values else None


def grouped(samples, key):
    """The samples by their key, in the order in which the keys first came."""
    groups = {}
    for sample in samples:
        groups.setdefault(key(sample), []).append(sample)
    return groups


def by_server(samples):
    groups = grouped(samples, lambda sample: sample["server"])
    return {server: groups[server] for server in SERVERS if server in groups}


@dataclass
class Verdict:
    """What blobd has over what the other has. More than 1 is better, also of latencies, which are turned round."""

    ratio: float
    target: float
    other: str

    @property
    def is_met(self):
        return self.ratio >= self.target


class FetchFigures:
    """One server's samples in one cell."""

    def __init__(self, samples):
        self.rate = spread(sample["requestsPerSecond"] for sample in samples)
        self.p50 = spread(sample.get("p50Microseconds") for sample in samples)
        self.p99 = spread(sample.get("p99Microseconds") for sample in samples)
        self.server_time = spread(sample.get("serverMicroseconds") for sample in samples)


class FetchCell:
    """Payloads of one size under one load, and everyone who was measured with them."""

    def __init__(self, byte_count, load, samples):
        self.byte_count, self.load = byte_count, load
        self.servers = {server: FetchFigures(some) for server, some in by_server(samples).items()}

    def of(self, wanted):
        return [server for server in self.servers if role(server) == wanted]

    def fastest(self, wanted):
        return max(self.of(wanted), key=lambda server: self.servers[server].rate.median, default=None)

    def is_starving(self, server):
        """Whether a server left most requests unanswered until the end, so that its latencies are those of a few:
        what is in flight is rate times mean latency (Little's law), and here even the p99 makes up less than half."""
        figures = self.servers[server]
        in_flight = self.load[0] * self.load[1]
        return figures.rate.median * figures.p99.median / 1e6 < in_flight / 2

    def verdicts(self):
        """By the heading of their column; None where one of the two did not take part."""
        fastest = self.fastest("peer")
        quick = [peer for peer in self.of("peer") if self.servers[peer].p99 and not self.is_starving(peer)]
        quickest = min(quick, key=lambda peer: self.servers[peer].p99.median, default=None)

        def rates(server, other, target):
            if server not in self.servers or other not in self.servers:
                return None
            own, others = self.servers[server].rate.median, self.servers[other].rate.median
            return Verdict(own / others, target, other)

        latency = None
        if quickest and "blobd" in self.servers:
            own, others = self.servers["blobd"].p99.median, self.servers[quickest].p99.median
            latency = Verdict(others / own, PEER_RATIO_MIN, quickest)
        is_large = self.byte_count >= HTTP_BYTE_COUNT_MIN
        return {
            "blobd / fastest peer": rates("blobd", fastest, PEER_RATIO_MIN),
            "blobd / C": rates("blobd", self.fastest("baseline"), BASELINE_RATIO_MIN),
            "HTTP / nginx": rates("blobd-http", "nginx", PEER_RATIO_MIN),
            "HTTP / fastest peer": rates("blobd-http", fastest, PEER_RATIO_MIN) if is_large else None,
            "best peer's p99 / blobd's": latency,
        }


def load_of(sample):
    load = sample["cell"]["load"]
    return load["connections"], load["inFlight"]


def load_text(load):
    return f"{load[0]} × {load[1]}"


def fetch_cells(samples):
    groups = grouped(samples, lambda sample: (sample["cell"]["byteCount"], load_of(sample)))
    return [FetchCell(*key, groups[key]) for key in sorted(groups)]


class PublishFigures:
    """One server's rounds in one cell. Its costs are those of all rounds by the publishes of all rounds: what it does
    only now and then, such as rewriting its log, is in them."""

    # What has a latency of its own.
    KINDS = ("publish", "fetch", "event")

    def __init__(self, samples):
        self.rate = spread(sample["perSecond"] for sample in samples)
        self.rates = {sample["round"]: sample["perSecond"] for sample in samples}
        self.latencies = {
            kind: {sample["round"]: sample[kind] for sample in samples if kind in sample} for kind in self.KINDS}
        self.user, self.kernel, self.bytes_written = (
            self.mean(samples, cost)
            for cost in ("userMicroseconds", "kernelMicroseconds", "bytesWrittenPerByte"))
        self.times = {
            sample["round"]: sample["userMicroseconds"] + sample["kernelMicroseconds"]
            for sample in samples if "userMicroseconds" in sample and "kernelMicroseconds" in sample}

    @staticmethod
    def mean(samples, cost):
        """Rounds are as long as each other, so each counts by its rate. None when a round does not say it."""
        if any(cost not in sample for sample in samples):
            return None
        rates = [sample["perSecond"] for sample in samples]
        return sum(sample[cost] * rate for sample, rate in zip(samples, rates)) / sum(rates)

    def latency(self, kind, percentile):
        """The median of the rounds; None without such a kind."""
        found = spread(one[f"{percentile}Microseconds"] for one in self.latencies[kind].values())
        return found and found.median

    @property
    def time(self):
        return None if self.user is None or self.kernel is None else self.user + self.kernel


def rounds(some, others):
    """The ratios of those rounds that both have."""
    return spread(value / others[number] for number, value in some.items() if others.get(number, 0) > 0)


class PublishCell:
    """Publishes of one size by so many publishers, and everyone who was measured with them."""

    def __init__(self, byte_count, connections, samples):
        self.byte_count, self.connections = byte_count, connections
        self.servers = {server: PublishFigures(some) for server, some in by_server(samples).items()}

    def both(self, server, other="redis"):
        own, others = self.servers.get(server), self.servers.get(other)
        return (own, others) if own and others and own is not others else None

    def ratio(self, server, other="redis"):
        """A server's rate over another's in the same round: a machine that grows slower changes no ratio."""
        both = self.both(server, other)
        return both and rounds(both[0].rates, both[1].rates)

    def latency_ratio(self, server, kind):
        """redis's median latency over a server's in the same round: more than 1 is better here too."""
        both = self.both(server)
        return both and rounds(*(
            {number: one["p50Microseconds"] for number, one in figures.latencies[kind].items()}
            for figures in both[::-1]))

    def time_ratio(self, server):
        """redis's processor time for a publish over a server's."""
        both = self.both(server)
        if not both or not both[0].time or both[1].time is None:
            return None
        ratio = rounds(both[1].times, both[0].times)
        return ratio and Spread(both[1].time / both[0].time, ratio.least, ratio.most)


@dataclass
class PublishGroup:
    """The cells of one operation on one file system: with one turnover (what becomes of ids), with or without owners,
    and with as many notifications stored before."""

    operation: str
    file_system: str
    turnover: str
    has_owners: bool
    stored: int
    cells: list

    @property
    def title(self):
        name = {"pair": "pairs, ", "event": "events, "}.get(self.operation, "")
        owners = ", with owners" if self.has_owners and self.operation != "event" else ""
        return f"{name}{self.file_system}, ids {self.turnover}{owners}{f', {self.stored:,} stored' if self.stored else ''}"

    @property
    def name(self):
        """For files."""
        parts = [self.file_system, self.turnover, self.has_owners and "owners", self.stored and str(self.stored)]
        return "-".join(filter(None, parts))


def publish_groups(samples):
    def cells(some):
        groups = grouped(some, lambda sample: (sample["cell"]["byteCount"], sample["cell"]["connections"]))
        return [PublishCell(*key, groups[key]) for key in sorted(groups)]

    groups = grouped(samples, lambda sample: tuple(
        sample["cell"][part] for part in ("operation", "fileSystem", "turnover", "hasOwners", "stored")))
    return [PublishGroup(*key, cells(some)) for key, some in groups.items()]


def reads(report):
    """Of each reader that took part: its rate, its instructions for a read, and its verdict."""
    groups = grouped(report.get("reads", []), lambda sample: sample["reader"])
    rates = {reader: spread(sample["readsPerSecond"] for sample in some) for reader, some in groups.items()}
    instructions = report.get("instructionsPerRead", {})
    for reader, (_, baseline) in READERS.items():
        if reader in rates:
            verdict = None
            if baseline in rates:
                verdict = Verdict(rates[reader].median / rates[baseline].median, READ_RATIO_MIN, "C")
            yield reader, rates[reader], instructions.get(reader), verdict


class WorkersFigures:
    """What a number of workers came to under one load, on all of the machine's cores."""

    def __init__(self, samples):
        self.rate = spread(sample["requestsPerSecond"] for sample in samples)
        # In cores, which may be more than one.
        self.generator_cores = spread(sample["generatorShare"] for sample in samples)
        self.server_cores = spread(
            sample["requestsPerSecond"] * sample.get("serverMicroseconds", 0) / 1e6 for sample in samples)


def workers(report):
    """Of each cell the figures by the number of workers."""
    samples = report.get("workers", [])
    for cell, some in grouped(samples, lambda one: (one["sample"]["cell"]["byteCount"], load_of(one["sample"]))).items():
        counts = grouped(some, lambda one: one["workers"])
        yield cell, {count: WorkersFigures([one["sample"] for one in counts[count]]) for count in sorted(counts)}


def gain(figures, cores):
    """What the most workers give over the fewest, and what the machine's cores allow: the load generator takes its part
    of them too. None without two numbers of workers or their processor times."""
    (few, one), (many, most) = min(figures.items()), max(figures.items())
    if few == many or one.server_cores.median == 0:
        return None
    both = one.server_cores.median + one.generator_cores.median
    return most.rate.median / one.rate.median, min(many / few, cores / both)
