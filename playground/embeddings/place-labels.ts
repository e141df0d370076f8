export interface Spot {
  /** Position in pixels. */
  x: number;
  y: number;
  text: string;
}

export interface Label {
  spot: Spot;
  text: string;
  side: Side;
}

export const SIDES = {
  above: { dx: 0, dy: -15, textAnchor: 'middle' },
  below: { dx: 0, dy: 15, textAnchor: 'middle' },
  right: { dx: 10, dy: 0, textAnchor: 'start' },
  left: { dx: -10, dy: 0, textAnchor: 'end' },
  aboveRight: { dx: -5, dy: -15, textAnchor: 'start' },
  aboveLeft: { dx: 5, dy: -15, textAnchor: 'end' },
  belowRight: { dx: -5, dy: 15, textAnchor: 'start' },
  belowLeft: { dx: 5, dy: 15, textAnchor: 'end' },
} as const;
export type Side = keyof typeof SIDES;
const ALL_SIDES = Object.keys(SIDES) as Side[];

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

const LINE = 15;
const DOT = 7;
/** A text is shortened to these lengths if the longer one does not fit. */
const LENGTHS = [48, 30, 18, 12];

/**
 * A place for each text beside its spot, where it covers no other and stays within the frame. What finds none has no
 * label.
 * @param measure width of a text in pixels
 */
export function placeLabels(
  spots: readonly Spot[],
  frame: { width: number; height: number },
  measure: (text: string) => number,
): Label[] {
  const taken: Box[] = spots.map(({ x, y }) => around(x, y, DOT));
  const labels: Label[] = [];
  for (const spot of spots) {
    const label = firstFree(spot, frame, measure, taken);
    if (!label) continue;
    taken.push(boxOf(label, measure));
    labels.push(label);
  }
  return labels;
}

function firstFree(
  spot: Spot,
  { width, height }: { width: number; height: number },
  measure: (text: string) => number,
  taken: readonly Box[],
): Label | null {
  for (const letters of LENGTHS) {
    for (const side of ALL_SIDES) {
      const label = { spot, side, text: shortened(spot.text, letters) };
      const box = boxOf(label, measure);
      if (box.left < 0 || box.right > width || box.top < 0 || box.bottom > height) continue;
      if (!taken.some((other) => overlap(box, other))) return label;
    }
  }
  return null;
}

function boxOf({ spot, side, text }: Label, measure: (text: string) => number): Box {
  const { dx, dy, textAnchor } = SIDES[side];
  const width = measure(text);
  const start = { start: 0, middle: -width / 2, end: -width }[textAnchor];
  const left = spot.x + dx + start;
  const middle = spot.y + dy;
  return { left, right: left + width, top: middle - LINE / 2, bottom: middle + LINE / 2 };
}

const around = (x: number, y: number, radius: number): Box => ({
  left: x - radius,
  right: x + radius,
  top: y - radius,
  bottom: y + radius,
});

const overlap = (a: Box, b: Box): boolean =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

const shortened = (value: string, letters: number): string =>
  value.length > letters ? `${value.slice(0, letters - 1).trimEnd()}…` : value;
