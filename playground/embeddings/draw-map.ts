import { dot, plot, pointer, text, tip, type Markish } from '@observablehq/plot';
import { placeLabels, SIDES, type Side, type Spot } from './place-labels.ts';

interface MapPoint {
  x: number;
  y: number;
  text: string;
}

const HEIGHT = 360;
const INSET = 32;
const LABELLED = 60;
const FONT_SIZE = 12;

export function drawMap(points: MapPoint[], width: number): Element {
  const spots = inPixels(points, width);
  const places = { x: 'x', y: 'y' } as const;
  const figure = plot({
    width,
    height: HEIGHT,
    margin: 0,
    axis: null,
    x: { type: 'identity' },
    y: { type: 'identity' },
    style: {
      background: 'transparent',
      color: 'inherit',
      fontFamily: 'inherit',
      fontSize: `${FONT_SIZE}px`,
    },
    marks: [
      dot(spots, { ...places, r: 5, fill: 'var(--accent)' }),
      ...(spots.length <= LABELLED ? labels(spots, width) : []),
      tip(spots, pointer({ ...places, title: 'text', fill: 'var(--surface)', stroke: 'var(--line-strong)' })),
    ],
  });
  // The page's policy refuses it, with an error in the console.
  figure.querySelector('style')?.remove();
  // Only the frame has an accessible name.
  figure.setAttribute('aria-hidden', 'true');
  return figure;
}

/** The larger of the two directions along the width; both at their own scale, to fill the frame. */
function inPixels(points: MapPoint[], width: number): Spot[] {
  const scale = (values: number[], size: number): ((value: number) => number) => {
    const [least, most] = [Math.min(...values), Math.max(...values)];
    return (value) =>
      most === least ? size / 2 : INSET + ((value - least) / (most - least)) * (size - 2 * INSET);
  };
  const across = scale(
    points.map(({ x }) => x),
    width,
  );
  const down = scale(
    points.map(({ y }) => -y),
    HEIGHT,
  );
  return points.map((point) => ({ x: across(point.x), y: down(-point.y), text: point.text }));
}

function labels(spots: Spot[], width: number): Markish[] {
  const context = document.createElement('canvas').getContext('2d');
  if (!context) return [];
  context.font = `${FONT_SIZE}px ${getComputedStyle(document.body).fontFamily}`;
  const placed = placeLabels(spots, { width, height: HEIGHT }, (value) => context.measureText(value).width);
  return (Object.keys(SIDES) as Side[]).map((side) =>
    text(
      placed.filter((label) => label.side === side),
      {
        ...SIDES[side],
        x: ({ spot }: { spot: Spot }) => spot.x,
        y: ({ spot }: { spot: Spot }) => spot.y,
        text: 'text',
        fill: 'currentColor',
      },
    ),
  );
}
