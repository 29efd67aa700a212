"""python3 -m unittest discover Benchmarks/Report"""

import importlib.util
import os
import tempfile
import unittest
from xml.etree import ElementTree

import tables
from summary import *

RATES = {"blobd": 1200, "blobd-http": 900, "memcached": 1000, "redis": 800, "nginx": 600, "varnish": 300,
         "c-writev": 1250, "c-sendfile": 1500}


def fetch(server, size=1024, load=(1, 1), rate=10, p99=None):
    # As long as all that is in flight takes at that rate.
    p99 = p99 or 1e6 * load[0] * load[1] / rate
    cell = {"byteCount": size, "load": {"connections": load[0], "inFlight": load[1]}}
    return {"server": server, "cell": cell, "number": 0, "requestsPerSecond": rate, "p50Microseconds": 40,
            "p99Microseconds": p99, "serverMicroseconds": 1e6 / rate, "generatorShare": 0.5}


def publish(server, size=1024, publishers=1, number=0, rate=10, file_system="ext4", user=12.34, kernel=123.4, written=2.5,
            operation="publish", owners=False, latencies=("publish",)):
    sample = {"server": server, "round": number, "perSecond": rate, "userMicroseconds": user,
              "kernelMicroseconds": kernel, "bytesWrittenPerByte": written,
              "cell": {"operation": operation, "fileSystem": file_system, "hasOwners": owners, "stored": 0,
                       "turnover": "replaced" if operation == "publish" else "new", "byteCount": size,
                       "connections": publishers},
              **{kind: {"p50Microseconds": 1e6 / rate, "p99Microseconds": 3e6 / rate} for kind in latencies}}
    return {key: value for key, value in sample.items() if value is not None}


def publish_samples():
    """blobd's rates are 1, 2 and 1.5 times redis's, on ext4 with one publisher 0.5 times; HTTP makes 0.8 times as many.
    The machine is three times slower in the last round than in the first."""
    return [publish(server, size, publishers, number, 2000 / (number + 1) * own, file_system,
                    written=2.5 if file_system == "ext4" else None)
            for number, factor in enumerate((1, 2, 1.5))
            for file_system, size, publishers, ahead in (
                ("ext4", 1024, 64, factor), ("ext4", 1024, 1, 0.5), ("xfs", 128 << 10, 64, factor))
            for server, own in (("blobd", ahead), ("blobd-http", 0.8 * ahead), ("redis", 1))]


def pair_and_event_samples():
    """HTTP makes 1.5 times redis's pairs and 3 quarters of the floor's, and blobd half of redis's events."""
    pairs = [publish(server, number=number, rate=rate, operation="pair", owners=True, latencies=("publish", "fetch"))
             for number in range(3) for server, rate in (("blobd", 2500), ("blobd-http", 3000), ("redis", 2000),
                                                         ("floor", 4000))]
    return pairs + [publish(server, publishers=256, rate=rate, operation="event", owners=True, latencies=("publish", "event"))
                    for server, rate in (("blobd", 500), ("redis", 1000))]


def example():
    """A report in which every ratio is known. Each fetch has half of its rate, its rate, and half as much again."""
    return {
        "machine": {"date": "2026-11-21T08:00:00Z", "processor": "Example <1>", "cores": 2, "kernel": "Linux 6.18",
                    "fileSystem": "ext4", "commit": "0123abc", "loadAverage": 0.1},
        "servers": [{"server": server, "version": "1.2"} for server in RATES],
        "method": {"sampleCount": 3, "seconds": 1},
        "fetches": [fetch(server, size, load, rate * factor) for size in (1 << 10, 128 << 10)
                    for load in ((1, 1), (16, 16)) for factor in (0.5, 1, 1.5) for server, rate in RATES.items()],
        "publishes": {
            "roundCount": 3, "seconds": 2, "replacedIDs": {"1024": 16_384},
            "samples": publish_samples() + pair_and_event_samples(),
            "storages": [{"fileSystem": "ext4", "device": "the folder's own", "syncMicroseconds": 41},
                         {"fileSystem": "xfs", "device": "in a file", "syncMicroseconds": 82}],
            "omissions": ["btrfs: only ext4 and xfs"], "servers": [{"server": "redis", "version": "1.2"}]},
        "reads": [{"reader": "c-renewed", "number": 0, "readsPerSecond": 4e6},
                  {"reader": "withPayload", "number": 0, "readsPerSecond": 3e6}],
        "instructionsPerRead": {"c-renewed": 1000, "withPayload": 1234}, "readByteCount": 1024,
        "workers": [{"workers": count, "sample": fetch("blobd", load=(64, 1), rate=count * 500_000)} for count in (1, 2)],
    }


class Numbers(unittest.TestCase):
    def test_rates_have_three_digits(self):
        for value, text in ((0, "0.00"), (9.994, "9.99"), (9.996, "10.0"), (99.96, "100"), (999.4, "999"),
                            (999.6, "1.00 k"), (391_000, "391 k"), (999_600, "1.00 M"), (2.5e9, "2.50 G")):
            self.assertEqual(short(value), text)

    def test_times_and_sizes_have_units(self):
        for value, text in ((0.87, "870 ns"), (0.9996, "1.00 µs"), (41.27, "41.3 µs"), (1240, "1.24 ms"), (2.1e6, "2.10 s")):
            self.assertEqual(time_text(value), text)
        for count, text in ((1024, "1 KiB"), (1 << 20, "1 MiB"), (1500, "1,500 B")):
            self.assertEqual(byte_text(count), text)

    def test_a_ratio_is_never_shown_on_the_other_side_of_its_target(self):
        for value, target, text in ((1.341, 1, "1.34 ×"), (0.998, 1, "0.998 ×"), (0.9996, 1, "0.9996 ×"), (1.0004, 1, "1.00 ×"),
                                    (0.8996, 0.9, "0.8996 ×"), (51.27, 1, "51.3 ×"), (512.7, 1, "513 ×")):
            self.assertEqual(ratio_text(value, target), text)


class Fetches(unittest.TestCase):
    def test_targets_are_met_or_not(self):
        for samples in (example()["fetches"], example()["fetches"][::-1]):
            cells = fetch_cells(samples)
            self.assertEqual([(cell.byte_count, cell.load) for cell in cells], [
                (1024, (1, 1)), (1024, (16, 16)), (131_072, (1, 1)), (131_072, (16, 16))])
            small, large = ([one and (round(one.ratio, 9), one.other, one.is_met) for one in cell.verdicts().values()]
                            for cell in (cells[0], cells[2]))
            self.assertEqual(small, [(1.2, "memcached", True), (0.8, "c-sendfile", False), (1.5, "nginx", True), None,
                                     (1.2, "memcached", True)])
            # HTTP is held against every peer from 16 KiB up.
            self.assertEqual(large[3], (0.9, "memcached", False))
        self.assertEqual(set(fetch_cells([fetch("blobd")])[0].verdicts().values()), {None})

    def test_latencies_are_turned_round(self):
        cell, = fetch_cells([fetch("blobd", p99=120_000), fetch("redis", p99=60_000), fetch("nginx", p99=90_000)])
        latency = cell.verdicts()["best peer's p99 / blobd's"]
        self.assertEqual((latency.ratio, latency.other, latency.is_met), (0.5, "redis", False))

    def test_a_server_that_starves_the_others_is_not_quick(self):
        cell, = fetch_cells([fetch("blobd", load=(16, 16), rate=1000), fetch("nginx", load=(16, 16), rate=1000, p99=300_000),
                             fetch("varnish", load=(16, 16), rate=1000, p99=300)])
        self.assertEqual(cell.verdicts()["best peer's p99 / blobd's"].other, "nginx")


class Publishes(unittest.TestCase):
    def test_ratios_are_those_of_rounds(self):
        ext4, xfs = publish_groups(publish_samples())
        self.assertEqual((ext4.title, xfs.title), ("ext4, ids replaced", "xfs, ids replaced"))
        one, many = ext4.cells
        ratio = many.ratio("blobd")
        self.assertEqual((ratio.median, ratio.least, ratio.most), (1.5, 1, 2))
        self.assertEqual(many.servers["blobd"].rate.median, 2000)
        self.assertEqual(one.ratio("blobd").median, 0.5)
        self.assertIsNone(many.ratio("redis"))
        self.assertIsNone(xfs.cells[0].servers["redis"].bytes_written)

    def test_a_round_of_one_server_is_left_out(self):
        cell, = publish_groups([publish("blobd"), publish("blobd", number=1, rate=30), publish("redis", number=1)])[0].cells
        self.assertEqual((cell.ratio("blobd").median, cell.ratio("blobd").most), (3, 3))
        alone, = publish_groups([publish("blobd")])[0].cells
        self.assertIsNone(alone.ratio("blobd"))

    def test_costs_are_of_all_rounds(self):
        """A round counts as much as it published: 30 publishes for 10 µs and 10 for 50 µs are 20 µs each."""
        samples = [publish("redis", rate=30, user=10, kernel=0, written=10),
                   publish("redis", number=1, rate=10, user=50, kernel=0, written=50)]
        samples += [publish("blobd", number=number, user=5, kernel=5, written=None) for number in (0, 1)]
        cell, = publish_groups(samples)[0].cells
        redis = cell.servers["redis"]
        self.assertEqual((redis.user, redis.bytes_written, cell.servers["blobd"].bytes_written), (20, 20, None))
        ratio = cell.time_ratio("blobd")
        self.assertEqual((ratio.median, ratio.least, ratio.most), (2, 1, 5))
        del samples[0]["kernelMicroseconds"]
        self.assertIsNone(publish_groups(samples)[0].cells[0].time_ratio("blobd"))


    def test_pairs_and_events_are_groups_of_their_own(self):
        pairs, events = publish_groups(pair_and_event_samples())
        self.assertEqual((pairs.title, pairs.name, events.title), (
            "pairs, ext4, ids new, with owners", "ext4-new-owners", "events, ext4, ids new"))
        cell = pairs.cells[0]
        self.assertEqual((cell.ratio("blobd").median, cell.ratio("blobd-http", "floor").median), (1.25, 0.75))
        self.assertEqual(cell.latency_ratio("blobd-http", "fetch").median, 1.5)
        self.assertIsNone(cell.latency_ratio("blobd", "event"))
        self.assertEqual(events.cells[0].servers["blobd"].latency("event", "p99"), 6000)
        self.assertIsNone(events.cells[0].servers["blobd"].latency("fetch", "p99"))


class Others(unittest.TestCase):
    def test_reads_are_held_against_their_c(self):
        c, own = reads(example())
        self.assertEqual((c[0], c[3], own[0], own[2]), ("c-renewed", None, "withPayload", 1234))
        self.assertEqual((own[3].ratio, own[3].is_met), (0.75, False))

    def test_what_the_machine_allows_is_known(self):
        """One worker takes a core and the generator half of one: two cores allow 4/3 of it."""
        (_, figures), = workers(example())
        self.assertEqual(gain(figures, 2), (2, 2 / 1.5))


class Tables(unittest.TestCase):
    def test_every_cell_has_its_line(self):
        lines = tables.tables(example()).split("\n")
        for line in (
            "| 1 KiB | 16 × 16 | **1.20 k** | 900 | 1.00 k | 800 | 600 | 300 | 1.25 k | 1.50 k |",
            "| 128 KiB | 1 × 1 | ✓ 1.20 × (memcached) | ✗ 0.80 × (C sendfile) | ✓ 1.50 × (nginx) | ✗ 0.90 × (memcached) |"
            " ✓ 1.20 × (memcached) |",
            "| 1 KiB | 64 | 2.00 k | 1.60 k | 1.00 k | ✓ 1.50 × (1.00–2.00) | ✓ 1.20 × (0.80–1.60) |",
            "| 1 KiB | 1 | 12.3 + 123 µs | 12.3 + 123 µs | 12.3 + 123 µs | 1.00 × (1.00–1.00) | 1.00 × (1.00–1.00) |",
            "| 1 KiB | 1 | 2.50 | 2.50 | 2.50 |", "| 128 KiB | 64 | – | – | – |",
            "* ext4, ids replaced: blobd is ahead of redis in 1 of 2 cells: 1 KiB × 64 1.50 × (1.00–2.00); behind:"
            " 1 KiB × 1 0.50 × (0.50–0.50).",
            "* xfs, ids replaced: blobd HTTP is ahead of redis in the one cell: 128 KiB × 64 1.20 × (0.80–1.60).",
            "| pairs, ext4, ids new, with owners: pairs a second | connections | blobd | blobd HTTP | redis | floor |"
            " blobd / redis | blobd HTTP / redis | blobd HTTP / floor |",
            "| 1 KiB | 1 | 2.50 k | 3.00 k | 2.00 k | 4.00 k | ✓ 1.25 × (1.25–1.25) | ✓ 1.50 × (1.50–1.50) |"
            " ✗ 0.75 × (0.75–0.75) |",
            "| event: p50, p99 | watchers | blobd | redis | redis's p50 / blobd's |",
            "| 1 KiB | 256 | 2.00 ms, 6.00 ms | 1.00 ms, 3.00 ms | 0.50 × (0.50–0.50) |",
            "| withPayload | 3.00 M | 1,234 | ✗ 0.75 × (C) |",
        ):
            self.assertIn(line, lines)

    def test_rows_are_as_wide_as_their_headers(self):
        width = None
        for line in tables.tables(example()).split("\n"):
            cells = line.count("|") if line.startswith("|") else None
            self.assertIn(width, (None, cells) if cells else (width,), line)
            width = cells

    def test_parts_stand_alone(self):
        for part in ("fetches", "publishes", "reads", "workers"):
            report = example()
            for other in {"fetches", "publishes", "reads", "workers"} - {part}:
                del report[other]
            text = tables.tables(report)
            self.assertGreater(text.count("|---|"), 0, part)
            self.assertEqual("alternating samples" in text, part != "publishes")
            self.assertEqual("16,384 of 1 KiB" in text and "Left out: btrfs" in text, part == "publishes")


@unittest.skipUnless(importlib.util.find_spec("matplotlib"), "needs matplotlib")
class Charts(unittest.TestCase):
    def test_each_has_every_bar(self):
        from charts import write_charts
        with tempfile.TemporaryDirectory() as folder:
            names = write_charts(example(), folder, "a test")
            self.assertEqual(len(names), len(set(names)))
            self.assertEqual(sorted(os.listdir(folder)), sorted(f"{name}.svg" for name in names))
            # Bytes written are known on ext4 alone.
            self.assertIn("publish-bytes-ext4-replaced", names)
            self.assertNotIn("publish-bytes-xfs-replaced", names)
            self.assertIn("pairs-ext4-new-owners", names)
            texts = {name: ["".join(text.itertext()) for text in ElementTree.parse(f"{folder}/{name}.svg").iter(
                "{http://www.w3.org/2000/svg}text")] for name in names}
            for name in names:
                if name.startswith("fetch"):
                    for server in ("blobd", "blobd HTTP", "memcached", "redis", "nginx", "varnish", "bare C"):
                        self.assertEqual(texts[name].count(server), 2, f"{name}: {server}")
            self.assertIn("1.20 k", texts["fetches-1x1"])
            self.assertIn("Example <1>, 2 cores, Linux 6.18, ext4, 2026-11-21, blobd 0123abc.", texts["fetches-1x1"])

    def test_groups_share_a_scale_unless_bars_would_vanish(self):
        from charts import Bar, draw
        with tempfile.TemporaryDirectory() as folder:
            for shortest, isShared in (100, True), (99, False):
                groups = [(str(value), [Bar("a", "#000000", value, "text")]) for value in (1_000, shortest)]
                draw(f"{folder}/a.svg", "title", groups, [], "a test")
                with open(f"{folder}/a.svg") as file:
                    self.assertEqual("its own scale" not in file.read(), isShared)

    def test_the_same_figures_give_the_same_bytes(self):
        from charts import write_charts
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for report in (example(), example()):
                write_charts(report, folder, "a test", ["workers"])
                with open(f"{folder}/workers.svg") as file:
                    files.append(file.read())
            self.assertEqual(*files)


if __name__ == "__main__":
    unittest.main()
