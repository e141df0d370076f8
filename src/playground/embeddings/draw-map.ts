import { dot, plot, text, tip, pointer } from '@observablehq/plot';

interface MapPoint {
  x: number;
  y: number;
  text: string;
}

const HEIGHT = 360;
const LABELLED = 40;

export function drawMap(points: MapPoint[], width: number): Element {
  const places = { x: 'x', y: 'y' } as const;
  const letters = Math.max(10, Math.floor(width / 26));
  const figure = plot({
    width,
    height: HEIGHT,
    inset: 32,
    axis: null,
    style: { background: 'transparent', color: 'inherit', fontFamily: 'inherit', fontSize: '12px' },
    marks: [
      dot(points, { ...places, r: 5, fill: 'var(--accent)' }),
      ...(points.length <= LABELLED
        ? [
            text(points, {
              ...places,
              text: (point: MapPoint) => shortened(point.text, letters),
              dy: -12,
              fill: 'currentColor',
            }),
          ]
        : []),
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

const shortened = (value: string, letters: number): string =>
  value.length > letters ? `${value.slice(0, letters - 1)}…` : value;
