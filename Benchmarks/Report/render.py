"""Tables and charts of a report.json: prints the tables, and writes them as report.md beside one SVG a chart."""

import argparse
import json
import os
import sys

from tables import tables


def main():
    parser = argparse.ArgumentParser(prog="Benchmarks/compare render", description=__doc__)
    parser.add_argument("report", metavar="report.json")
    parser.add_argument("--output", metavar="FOLDER", help="where they go (the folder of the report)")
    parser.add_argument("--charts", nargs="+", metavar="NAME", help="draw these charts and write no tables")
    arguments = parser.parse_args()
    with open(arguments.report) as file:
        report = json.load(file)
    folder = arguments.output or os.path.dirname(arguments.report) or "."
    os.makedirs(folder, exist_ok=True)
    if not arguments.charts:
        text = tables(report)
        print(text, end="")
        with open(f"{folder}/report.md", "w") as file:
            file.write(text)
    # Tables need no matplotlib.
    from charts import write_charts
    source = " ".join([parser.prog, *sys.argv[1:]])
    for name in write_charts(report, folder, source, arguments.charts):
        print(f"{folder}/{name}.svg", file=sys.stderr)


if __name__ == "__main__":
    main()
