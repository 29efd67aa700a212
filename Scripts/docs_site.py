"""A hook of MkDocs: files of the repository that the documents refer to become files of the site. Lines break in long
names in tables, but not in a flag, nor between a number and its unit."""
import os
import posixpath
import re

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def linked(page_path, target):
    """The path in the repository of a link that leaves docs/, or None."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page_path), target))
    outside = not path.startswith("docs/") or path.startswith("docs/examples/") or not path.endswith((".md", ".svg", ".png"))
    return path if outside and os.path.isfile(os.path.join(ROOT, path)) else None


def on_files(files, config):
    paths = set()
    for file in files.documentation_pages():
        for target in re.findall(r"\]\(([^)#:]+)", file.content_string):
            paths.add(linked(file.src_uri, target))
    for path in sorted(paths - {None}):
        with open(os.path.join(ROOT, path), "rb") as source:
            # As text, whatever its name: a browser shows it.
            files.append(File.generated(config, f"repository/{path}.txt", content=source.read()))
    return files


def on_page_markdown(markdown, page, config, files):
    def rewritten(match):
        path = linked(page.file.src_uri, match.group(1))
        if path is None:
            return match.group(0)
        up = "../" * page.file.src_uri.count("/")
        return f"]({up}repository/{path}.txt)"

    # A test reads what follows the language of a block.
    markdown = re.sub(r"^(```\w+) .*", r"\1", markdown, flags=re.M)
    return re.sub(r"\]\(([^)#:]+)(?:#[^)]*)?\)", rewritten, markdown)


def on_page_content(html, page, config, files):
    if "```" in html:
        raise PluginError(f"{page.file.src_uri}: a block of code is shown as text")

    def parted(code):
        name = code.group()
        return re.sub("(&amp;|[/_,])(?!$)", r"\1<wbr>", name) if len(name) > 12 else name

    def whole(code):
        return re.sub(r"(?<![^ (])--[\w-]+", r'<span class="flag">\g<0></span>', code.group())

    html = re.sub(r"<td\b.*?</td>", lambda cell: re.sub("(?<=<code>)[^<]*", parted, cell.group()), html, flags=re.S)
    html = re.sub("(?<=<code>)[^<]*", whole, html)
    pieces = re.split(r"(<pre\b.*?</pre>|<code>.*?</code>|<[^>]*>)", html, flags=re.S)
    unit = re.compile(r"(?<=\d) (?=(?:[kKMG]i?B?|bytes|[µm]?s|[hd%])(?!\w))|(?<=\d) (?=× \d)|(?<=\d ×) (?=\d)")
    pieces[::2] = [unit.sub("\N{NO-BREAK SPACE}", text) for text in pieces[::2]]
    return "".join(pieces)
