/// How the page looks: one column that widens into panels, light and dark, on paper too.
///
/// blobd is the only colour. Peers are grey and the C program is an outline, so that nothing is
/// told by hue alone; names and values stand beside every mark.
enum PageStyle {
    static let css = """
        :root {
          --page: #ffffff; --ink: #16191d; --quiet: #59616d; --line: #dde1e6; --card: #f5f6f8;
          --blobd: #0068a8; --http: #3d97d0; --peer: #868f9b; --met: #00704a; --unmet: #b03a00;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --page: #13161a; --ink: #e7eaee; --quiet: #a3abb6; --line: #2d333b; --card: #1b1f25;
            --blobd: #5bb4ee; --http: #2f7cb0; --peer: #6e7783; --met: #4cc38a; --unmet: #ff9a5c;
          }
        }
        * { box-sizing: border-box; }
        html { -webkit-text-size-adjust: 100%; }
        body {
          margin: 0 auto; max-width: 76rem; padding: 1.5rem 1rem 4rem;
          background: var(--page); color: var(--ink);
          font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
          font-variant-numeric: tabular-nums;
        }
        @media (min-width: 48rem) { body { padding: 3rem 2rem 5rem; } }
        h1 { font-size: 1.75rem; line-height: 1.15; margin: 0; font-weight: 500; letter-spacing: -.01em; }
        h1 b { color: var(--blobd); font-weight: 700; }
        @media (min-width: 48rem) { h1 { font-size: 2.5rem; } }
        h2 { font-size: 1.35rem; line-height: 1.25; margin: 0 0 .5rem; letter-spacing: -.005em; }
        h3 {
          font-size: 1rem; margin: 1.75rem 0 .5rem; padding-bottom: .2rem;
          border-bottom: 1px solid var(--line);
        }
        section { margin-top: 3.5rem; }
        p { margin: 0 0 .6rem; max-width: 46rem; }
        .lead { font-size: 1.1rem; margin-top: .75rem; }
        .finding { font-size: 1.05rem; }
        .facts, .note, small { color: var(--quiet); font-size: .85rem; }
        figure { margin: 1rem 0 0; }
        .unseen {
          position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
          white-space: nowrap;
        }

        .tiles {
          display: grid; gap: .75rem; margin: 1.5rem 0 0;
          grid-template-columns: repeat(auto-fit, minmax(min(100%, 10rem), 1fr));
        }
        .tiles div {
          display: flex; flex-direction: column-reverse; justify-content: flex-end;
          background: var(--card); border-radius: .5rem; padding: .8rem .9rem .9rem;
        }
        .tiles dd { margin: 0; font-size: 1.7rem; line-height: 1.2; font-weight: 650; color: var(--blobd); }
        .tiles dt { font-size: .85rem; line-height: 1.4; color: var(--quiet); }

        .legend {
          display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; list-style: none;
          margin: 0 0 .75rem; padding: 0; font-size: .85rem;
        }
        .legend li { display: flex; align-items: center; gap: .35rem; }

        .panels {
          display: grid; gap: 1.25rem 2.25rem;
          grid-template-columns: repeat(auto-fit, minmax(min(100%, 19rem), 1fr));
        }
        .panels.wide { grid-template-columns: minmax(0, 46rem); }
        .panels.four { grid-template-columns: repeat(auto-fit, minmax(min(100%, 15rem), 1fr)); }
        .panel { width: 100%; border-collapse: collapse; table-layout: fixed; font-size: .84rem; }
        .panel caption {
          text-align: left; font-weight: 600; padding-bottom: .25rem; font-size: .84rem;
        }
        .panel caption.unseen { padding: 0; }
        .panel th, .panel td { padding: 0; line-height: 1.35rem; vertical-align: middle; }
        .panel tbody th { text-align: left; font-weight: 400; white-space: nowrap; }
        .panel col.name { width: 6.2rem; }
        .panel col.figure { width: 4.2rem; }
        .panels.wide col.name { width: 9.6rem; }
        .times col.figure { width: 8.2rem; }
        .panel .value { text-align: right; white-space: nowrap; }
        .panel tr.s-blobd th, .panel tr.s-blobd .value { font-weight: 700; }
        .panel tr.s-http th, .panel tr.s-http .value { font-weight: 600; }
        .panel .inset { padding: 0 .5rem; }
        .strip { display: block; overflow: visible; }
        .axis div { position: relative; height: 1.2rem; }
        .axis span {
          position: absolute; transform: translateX(-50%); white-space: nowrap;
          font-size: .7rem; line-height: 1.2rem; color: var(--quiet);
        }

        .overview { max-width: 60rem; }
        .overview col.name { width: 3.6rem; }
        .overview col.figure { width: 4.2rem; }
        .overview thead th { text-align: right; font-weight: 600; color: var(--quiet); }
        .overview td, .overview tbody th { line-height: 26px; }
        .overview tr.group th { font-weight: 600; padding-top: .5rem; line-height: 1.5rem; }
        .overview td.s-blobd { color: var(--blobd); font-weight: 700; }
        .overview td.s-http { color: var(--quiet); }

        rect.s-blobd, circle.s-blobd { fill: var(--blobd); }
        rect.s-http, circle.s-http { fill: var(--http); }
        rect.s-peer, circle.s-peer { fill: var(--peer); }
        rect.s-c { fill: none; stroke: var(--ink); stroke-width: 1.25; }
        circle.s-c { fill: var(--page); stroke: var(--ink); stroke-width: 1.5; }
        circle.ring { stroke: var(--page); stroke-width: 1.5; }
        circle.half { fill: var(--page); stroke-width: 2; }
        circle.half.s-blobd, line.s-blobd { stroke: var(--blobd); }
        circle.half.s-http, line.s-http { stroke: var(--http); }
        circle.half.s-peer, line.s-peer { stroke: var(--peer); }
        circle.half.s-c, line.s-c { stroke: var(--ink); }
        circle.s-c:not(.half) { fill: var(--ink); }
        line.reach { stroke-width: 2.5; }
        line.reach.s-c { stroke-width: 1.25; }
        line.grid { stroke: var(--line); stroke-width: 1; }
        line.one { stroke: var(--quiet); stroke-width: 1.5; }
        line.c-mark { stroke: var(--ink); stroke-width: 2; }
        line.whisker { stroke: var(--ink); stroke-width: 1.25; opacity: .75; }

        .scroll { overflow-x: auto; max-width: 100%; }
        .figures { border-collapse: collapse; font-size: .84rem; width: 100%; }
        .figures th, .figures td {
          padding: .3rem .6rem; text-align: right; white-space: nowrap; vertical-align: top;
          border-bottom: 1px solid var(--line);
        }
        .figures thead th { vertical-align: bottom; color: var(--quiet); font-weight: 600; }
        .figures th:first-child {
          text-align: left; position: sticky; left: 0; background: var(--page); font-weight: 500;
        }
        .figures details th { font-weight: 400; }
        .targets small { display: block; font-weight: 400; line-height: 1.2; }
        @media (max-width: 40rem) {
          .targets { font-size: .7rem; table-layout: fixed; }
          .targets th, .targets td { padding: .3rem .1rem; }
          .targets th:first-child { width: 5.9rem; }
          .targets thead th { white-space: normal; overflow-wrap: anywhere; font-size: .64rem; }
          .targets td small { display: none; }
          .targets thead small { font-size: inherit; }
        }
        .met { color: var(--met); font-weight: 700; }
        .unmet { color: var(--unmet); font-weight: 700; }
        details { margin-top: 1.25rem; }
        summary { cursor: pointer; font-size: .9rem; padding: .3rem 0; color: var(--blobd); }
        details[open] summary { margin-bottom: .5rem; }

        .cards {
          display: grid; gap: .9rem;
          grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr));
        }
        .cards article { background: var(--card); border-radius: .5rem; padding: .9rem 1rem .5rem; }
        .cards h3 { margin: 0 0 .4rem; border: 0; padding: 0; }
        .cards h3 small { font-weight: 400; }
        .cards p { font-size: .9rem; line-height: 1.45; }
        code {
          font: .78rem/1.45 ui-monospace, SFMono-Regular, Menlo, "DejaVu Sans Mono", monospace;
          overflow-wrap: anywhere;
        }
        .cards p > small { display: block; line-height: 1.3; }
        .method { margin: 0; max-width: 56rem; }
        .method div {
          display: grid; gap: 0 1rem; padding: .35rem 0; border-bottom: 1px solid var(--line);
        }
        @media (min-width: 40rem) { .method div { grid-template-columns: 8rem 1fr; } }
        .method dt { color: var(--quiet); font-size: .9rem; }
        .method dd { margin: 0; font-size: .9rem; }

        @media print {
          :root {
            --page: #ffffff; --ink: #000000; --quiet: #444444; --line: #cccccc; --card: #ffffff;
            --blobd: #0068a8; --http: #3d97d0; --peer: #868f9b; --met: #00704a; --unmet: #b03a00;
          }
          @page { size: A4; margin: 14mm; }
          html { font-size: 11px; }
          body { max-width: none; padding: 0; }
          p { max-width: none; }
          * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
          section { margin-top: 1.6rem; }
          h2, h3, .finding, .note, .panel caption { break-after: avoid; }
          .panel, .targets, .cards article, .tiles, tr, p { break-inside: avoid; }
          .panels { grid-template-columns: repeat(3, minmax(0, 1fr)); gap: 1rem 1.25rem; }
          .panels.wide { grid-template-columns: minmax(0, 1fr); }
          .panels.four { grid-template-columns: repeat(2, minmax(0, 1fr)); }
          .tiles { grid-template-columns: repeat(4, 1fr); }
          .cards { grid-template-columns: repeat(2, 1fr); }
          .cards article, .tiles div { border: 1px solid var(--line); }
          .scroll { overflow: visible; }
          .figures { font-size: 9.5px; line-height: 1.25; }
          .figures small { font-size: inherit; }
          .figures th, .figures td { padding: .15rem .3rem; }
          details::details-content { content-visibility: visible; block-size: auto; }
          summary { list-style: none; color: var(--ink); font-weight: 600; }
        }
        """
}
