import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import type * as PlotLibrary from '@observablehq/plot';
import { chromium, type Page } from 'playwright';

import { findBrowser } from '../../../test/support/find-browser.ts';
import { type Series, summarize } from '../row.ts';

declare const Plot: typeof PlotLibrary;

interface Point {
  x: number;
  median: number;
  min: number;
  max: number;
}

/** The image follows the reader's colour scheme. */
const COLOURS = `
  svg { --text: #1f2328; --measured: #b4541a; --linear: #8c959f; }
  @media (prefers-color-scheme: dark) { svg { --text: #e6edf3; --measured: #f0883e; --linear: #768390; } }
`;

/** Draws each series as SVG with Plot, in a browser, because Plot requires a document. */
export async function plotSeries(all: Record<string, Series>): Promise<Record<string, string>> {
  const browser = await chromium.launch({ executablePath: findBrowser(), args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage();
    for (const path of libraries()) await page.addScriptTag({ path });
    const drawn: Record<string, string> = {};
    for (const [name, series] of Object.entries(all)) drawn[name] = await draw(page, series);
    return drawn;
  } finally {
    await browser.close();
  }
}

/** Plot's own build for pages requires D3 beside it. */
function libraries(): string[] {
  const fromHere = createRequire(import.meta.url);
  const plot = join(dirname(fromHere.resolve('@observablehq/plot')), '../dist/plot.umd.min.js');
  const d3 = join(dirname(createRequire(plot).resolve('d3')), '../dist/d3.min.js');
  return [d3, plot];
}

async function draw(page: Page, { x, y, points }: Series): Promise<string> {
  const summaries: Point[] = points.map((point) => ({ x: point.x, ...summarize(point.values) }));
  return page.evaluate(drawInPage, { x, y, points: summaries, colours: COLOURS });
}

function drawInPage(given: { x: string; y: string; points: Point[]; colours: string }): string {
  const { points } = given;
  const last = points.at(-1);
  const linear = points.map(({ x }) => ({ x, y: last ? (last.median * x) / last.x : 0 }));
  const lowest = Math.min(...points.map(({ min }) => min));
  const highest = Math.max(...points.map(({ max }) => max));
  const plot = Plot.plot({
    width: 560,
    height: 300,
    marginLeft: 56,
    marginBottom: 40,
    style: { background: 'none', color: 'var(--text)', fontSize: '12px' },
    x: { type: 'log', label: given.x },
    y: {
      type: 'log',
      label: given.y,
      grid: true,
      domain: [lowest * 0.8, highest * 1.25],
      tickFormat: '~g',
      ticks: 5,
    },
    marks: [
      // The scale's default ticks are powers of ten only.
      Plot.axisX(
        points.map(({ x }) => x),
        { text: String },
      ),
      Plot.line(linear, { x: 'x', y: 'y', stroke: 'var(--linear)', strokeDasharray: '4 4', clip: true }),
      Plot.ruleX(points, {
        x: 'x',
        y1: 'min',
        y2: 'max',
        stroke: 'var(--measured)',
        strokeOpacity: 0.5,
        strokeWidth: 3,
      }),
      Plot.line(points, { x: 'x', y: 'median', stroke: 'var(--measured)', strokeWidth: 1.5 }),
      Plot.dot(points, { x: 'x', y: 'median', fill: 'var(--measured)', r: 3.5 }),
    ],
  });
  const style = document.createElementNS('http://www.w3.org/2000/svg', 'style');
  style.textContent = given.colours;
  plot.prepend(style);
  plot.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  return new XMLSerializer().serializeToString(plot);
}
