"""The charts of a report as SVG: horizontal bars in groups, on one scale, or on one for each group where one would leave
no bar of some.

The background is light, on a dark page too, and the texts are large enough to be read on a phone, where a picture of
360 points is scaled down to the width of the screen.
"""

import textwrap
from dataclasses import dataclass

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

from summary import *
from tables import machine_text, publish_time_text

BACKGROUND, TEXT = "#f4f6f8", "#4a5560"
COLOURS = {"blobd": "#0b4fa8", "blobd-http": "#4a8fe0", "peer": "#818b95", "baseline": "#a07800"}

# In points.
WIDTH, ROW, BAR, HEADING, MARGIN, NOTE_LINE = 360, 15, 11, 24, 6, 11
CHARACTER_WIDTH, GAP = 6.8, 4
TITLE_SIZE, TEXT_SIZE, NOTE_SIZE = 12, 10, 8.5
NOTE_COLUMNS = 82
# A group whose longest bar would be shorter than this part of the longest of all has a scale of its own, as all have then.
SHORTEST_GROUP = 0.1

matplotlib.rcParams.update({
    # Texts stay texts: they are found, read aloud, and drawn in the reader's font.
    "svg.fonttype": "none",
    # The same figures give the same bytes.
    "svg.hashsalt": "blobd",
    "font.family": "sans-serif",
    "text.color": TEXT,
    "text.parse_math": False,
})


@dataclass
class Bar:
    name: str
    colour: str
    value: float
    text: str
    # A part of the value that is drawn full; the rest is pale.
    inner: float = None
    # From the least sample to the most.
    whisker: tuple = None

    @property
    def end(self):
        return max(self.value, self.whisker[1] if self.whisker else 0)


def draw(path, title, groups, note, source):
    """`groups`: titles and their bars; `source`: how to draw the picture again."""
    groups = [(heading, bars) for heading, bars in groups if bars]
    if not groups:
        return False
    every = [bar for _, bars in groups for bar in bars]
    longest = [max(bar.end for bar in bars) for _, bars in groups]
    if min(longest) < max(longest) * SHORTEST_GROUP:
        note = [*note, "Each group has its own scale."]
    else:
        longest = [max(longest)] * len(groups)
    if any(bar.whisker and bar.whisker[0] < bar.whisker[1] for bar in every):
        note = ["Medians; the line goes from the slowest sample to the fastest.", *note]
    lines = [line for sentence in note for line in textwrap.wrap(sentence, NOTE_COLUMNS)]
    height = 2 * MARGIN + HEADING + sum(HEADING + ROW * len(bars) for _, bars in groups) + NOTE_LINE * (len(lines) + 1)
    figure = pyplot.figure(figsize=(WIDTH / 72, height / 72))
    # Points from the upper left corner.
    axes = figure.add_axes([0, 0, 1, 1], xlim=(0, WIDTH), ylim=(height, 0), frame_on=False, xticks=[], yticks=[])
    # Names stand in front of the bars and values after them: the longest must have room.
    start = MARGIN + CHARACTER_WIDTH * max(len(bar.name) for bar in every) + GAP
    room = WIDTH - start - CHARACTER_WIDTH * max(len(bar.text) for bar in every) - GAP - MARGIN
    y = MARGIN + HEADING / 2
    axes.text(MARGIN, y, title, size=TITLE_SIZE, weight="bold", va="center")
    y += HEADING / 2
    for (heading, bars), end in zip(groups, longest):
        axes.text(MARGIN, y + HEADING / 2, heading, size=TEXT_SIZE, weight="bold", va="center")
        y += HEADING
        scale = room / end
        for bar in bars:
            draw_bar(axes, start, y + ROW / 2, bar, scale)
            y += ROW
    for number, line in enumerate(lines):
        axes.text(MARGIN, y + NOTE_LINE * (number + 1), line, size=NOTE_SIZE, va="center")
    figure.savefig(path, facecolor=BACKGROUND, metadata={"Date": None, "Title": title, "Description": source})
    pyplot.close(figure)
    return True


def draw_bar(axes, start, y, bar, scale):
    text = {"size": TEXT_SIZE, "va": "center", "weight": "bold" if bar.colour == COLOURS["blobd"] else "normal"}
    axes.text(start - GAP, y, bar.name, ha="right", **text)
    axes.barh(y, bar.value * scale, BAR, start, color=bar.colour, alpha=1 if bar.inner is None else 0.45)
    if bar.inner is not None:
        axes.barh(y, bar.inner * scale, BAR, start, color=bar.colour)
    if bar.whisker:
        for colour, width in (BACKGROUND, 3), (TEXT, 1):      # Also visible on the bar.
            axes.hlines(y, *(start + value * scale for value in bar.whisker), color=colour, linewidth=width)
    axes.text(start + bar.end * scale + GAP, y, bar.text, **text)


def server_bar(server, *rest):
    # Of the two C programs a chart shows the faster, as what it is.
    name = "bare C" if server.startswith("c-") else label(server)
    return Bar(name, COLOURS.get(server) or COLOURS[role(server)], *rest)


def whisker(spread):
    return spread.least, spread.most


def load_title(load):
    text = "1 connection" if load[0] == 1 else f"{load[0]} connections"
    return text if load[1] == 1 else f"{text} × {load[1]} in flight"


def charts(report):
    """Names, titles, groups of bars, and notes."""
    yield from fetch_charts(report)
    yield from publish_charts(report)
    size = byte_text(report.get("readByteCount", 0))
    bars = [Bar(READERS[reader][0], COLOURS["blobd" if READERS[reader][1] else "baseline"], rate.median,
                short(rate.median), None, whisker(rate)) for reader, rate, _, _ in reads(report)]
    yield "reads", "Reads a second, in process", [(f"{size}, one thread", bars)], []
    yield "workers", "Fetches a second by workers", [
        (f"{byte_text(cell_size)}, {load_title(load)}",
         [Bar(f"{count} workers" if count > 1 else "1 worker", COLOURS["blobd"], one.rate.median,
              short(one.rate.median), None, whisker(one.rate)) for count, one in figures.items()])
        for (cell_size, load), figures in workers(report)], ["The load generator shares the cores."]


def fetch_charts(report):
    cells = fetch_cells(report.get("fetches", []))
    for load in sorted({cell.load for cell in cells}):
        name = f"{load[0]}x{load[1]}"

        def groups(bar):
            return [(byte_text(cell.byte_count), list(filter(None, (
                bar(server, cell.servers[server]) for server in shown(cell)))))
                for cell in cells if cell.load == load]

        yield f"fetches-{name}", f"Fetches a second, {load_title(load)}", groups(
            lambda server, one: server_bar(server, one.rate.median, short(one.rate.median), None, whisker(one.rate))
        ), ["Longer is better."]
        yield f"fetch-times-{name}", f"Time of a fetch, {load_title(load)}", groups(
            lambda server, one: one.p99 and one.p50 and server_bar(
                server, one.p99.median, time_text(one.p99.median), one.p50.median)
        ), ["Shorter is better. Dark: the median. Pale, and in figures: the 99th percentile."]
        yield f"fetch-cpu-{name}", f"Processor time of a fetch, {load_title(load)}", groups(
            lambda server, one: one.server_time and server_bar(
                server, one.server_time.median, time_text(one.server_time.median), None, whisker(one.server_time))
        ), ["Shorter is better: all processes of the server."]


def shown(cell):
    """The servers without the slower of the two C programs."""
    return [server for server in cell.servers
            if is_usual(server) and (role(server) != "baseline" or server == cell.fastest("baseline"))]


def is_usual(server):
    """Charts show blobd with its default settings."""
    return not server.endswith("spin-0")


def publish_charts(report):
    for group in publish_groups(report.get("publishes", {}).get("samples", [])):
        name = group.name
        one, many, connections = OPERATIONS[group.operation]
        prefix = group.operation

        def groups(bar):
            return [(f"{byte_text(cell.byte_count)}, {cell.connections} {connections[:-1]}{'s' * (cell.connections > 1)}",
                     list(filter(None, (bar(server, figures) for server, figures in cell.servers.items() if is_usual(server)))))
                    for cell in group.cells]

        plural = "publishes" if prefix == "publish" else f"{prefix}s"
        yield f"{plural}-{name}", f"Durable {many} a second", groups(
            lambda server, one: server_bar(server, one.rate.median, short(one.rate.median), None, whisker(one.rate))
        ), [f"{group.title}. Longer is better. redis with appendfsync always."]
        yield f"{prefix}-cpu-{name}", f"Processor time of a {one}", groups(
            lambda server, one: one.time and server_bar(server, one.time, publish_time_text(one), one.user)
        ), [f"{group.title}. Shorter is better. Dark: outside the kernel. Pale: in it."]
        yield f"{prefix}-bytes-{name}", "Bytes written a byte published", groups(
            lambda server, one: one.bytes_written and server_bar(
                server, one.bytes_written, f"{one.bytes_written:.2f}")
        ), [f"{group.title}. Shorter is better: what the device writes until all is synced."]


def write_charts(report, folder, source, wanted=None):
    """Draws the charts that are wanted, or all for which there are figures, and returns their names."""
    machine = f"{machine_text(report['machine'])}."
    return [name for name, title, groups, note in charts(report)
            if (not wanted or name in wanted)
            and draw(f"{folder}/{name}.svg", title, groups, [*note, machine], source)]
