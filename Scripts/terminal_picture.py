"""Draws the text of a terminal as SVG: python3 Scripts/terminal_picture.py screen.txt >screen.svg

Blocks are drawn as rectangles, and each word is as wide as its cells, so that no font changes the columns. The background
is dark, in a light page too.
"""
import re
import sys
from html import escape

CELL, LINE, SIZE, MARGIN = 9, 20, 15, 14
BLOCKS = "▁▂▃▄▅▆▇█"
TEXT, DIM, BAR, BACKGROUND = "#d7dde3", "#8b98a5", "#4aa3df", "#1b2229"


def words(line):
    """Runs of letters between blocks and double spaces, with their columns."""
    return [(m.start(), m.group()) for m in re.finditer(r"[^\s▁-█░]+(?: [^\s▁-█░]+)*", line)]


def main(path):
    with open(path, encoding="utf-8") as file:
        lines = file.read().rstrip("\n").split("\n")
    width = max(map(len, lines)) * CELL + 2 * MARGIN
    height = len(lines) * LINE + 2 * MARGIN
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">')
    print(f'<rect width="{width}" height="{height}" rx="8" fill="{BACKGROUND}"/>')
    print(f'<g font-family="DejaVu Sans Mono,Menlo,Consolas,monospace" font-size="{SIZE}" fill="{TEXT}">')
    for row, line in enumerate(lines):
        top = MARGIN + row * LINE
        for column, sign in enumerate(line):
            if sign == "░" or sign in BLOCKS:
                tall = LINE - 4 if sign == "░" else (BLOCKS.index(sign) + 1) * (LINE - 4) / 8
                color = "#38434e" if sign == "░" else BAR
                print(f'<rect x="{MARGIN + column * CELL}" y="{top + LINE - 2 - tall:g}" width="{CELL - 1}" '
                      f'height="{tall:g}" fill="{color}"/>')
        for column, word in words(line):
            # A heading of a table or a part.
            dim = f' fill="{DIM}"' if word in ("operation", "per second", "p50", "p99") or line.startswith("slowest") else ""
            print(f'<text x="{MARGIN + column * CELL}" y="{top + LINE - 5}" textLength="{len(word) * CELL}" '
                  f'lengthAdjust="spacingAndGlyphs"{dim}>{escape(word)}</text>')
    print("</g>\n</svg>")


main(sys.argv[1])
