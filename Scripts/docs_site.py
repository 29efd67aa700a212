"""A hook of MkDocs: files of the repository that the documents refer to become files of the site."""
import os
import posixpath
import re

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

    return re.sub(r"\]\(([^)#:]+)(?:#[^)]*)?\)", rewritten, markdown)
