import { dot, plot, pointer, text, tip, type Markish } from '@observablehq/plot';

interface MapPoint {
  x: number;
  y: number;
  text: string;
}

const HEIGHT = 360;
const LABELLED = 40;

export function drawMap(points: MapPoint[], width: number): Element {
  const places = { x: 'x', y: 'y' } as const;
  const figure = plot({
    width,
    height: HEIGHT,
    inset: 32,
    axis: null,
    style: { background: 'transparent', color: 'inherit', fontFamily: 'inherit', fontSize: '12px' },
    marks: [
      dot(points, { ...places, r: 5, fill: 'var(--accent)' }),
      ...(points.length <= LABELLED ? labels(points, Math.max(10, Math.floor(width / 26))) : []),
      tip(
        points,
        pointer({ ...places, title: 'text', fill: 'var(--surface)', stroke: 'var(--line-strong)' }),
      ),
    ],
  });
  // Its frame has the name; the parts of the drawing say nothing of their own.
  figure.setAttribute('aria-hidden', 'true');
  return figure;
}

/** Beside the edges a label runs inwards, so that none is cut off. */
function labels(points: MapPoint[], letters: number): Markish[] {
  const xs = points.map(({ x }) => x);
  const least = Math.min(...xs);
  const third = (Math.max(...xs) - least) / 3;
  const anchorOf = ({ x }: MapPoint): (typeof ANCHORS)[number] =>
    x < least + third ? 'start' : x > least + 2 * third ? 'end' : 'middle';
  return ANCHORS.map((textAnchor) =>
    text(
      points.filter((point) => anchorOf(point) === textAnchor),
      {
        x: 'x',
        y: 'y',
        textAnchor,
        fill: 'currentColor',
        dy: -12,
        text: (point: MapPoint) => shortened(point.text, letters),
      },
    ),
  );
}

const ANCHORS = ['start', 'middle', 'end'] as const;

const shortened = (value: string, letters: number): string =>
  value.length > letters ? `${value.slice(0, letters - 1)}…` : value;
