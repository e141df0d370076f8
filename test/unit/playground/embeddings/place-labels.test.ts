import { expect, test } from 'vitest';

import { placeLabels, type Spot } from '../../../../playground/embeddings/place-labels.ts';

const frame = { width: 320, height: 360 };
const measure = (text: string): number => text.length * 7;
const at = (x: number, y: number, text = 'The train to Vienna'): Spot => ({ x, y, text });

test('texts near each other go to different sides, all within the frame', () => {
  const labels = placeLabels([at(160, 180), at(175, 196), at(145, 164)], frame, measure);
  expect(labels.length).toBe(3);
  expect(new Set(labels.map(({ side }) => side)).size).toBe(3);
});

test('beside an edge a text runs inwards', () => {
  const [left, right] = placeLabels([at(32, 32), at(288, 328)], frame, measure);
  expect(left?.side).toMatch(/ight$/);
  expect(right?.side).toMatch(/eft$/);
});

test('a long text is cut, and one without a place has no label', () => {
  const [long] = placeLabels([at(160, 180, 'x'.repeat(80))], frame, measure);
  expect(long?.text).toMatch(/^x+…$/);
  const crowd = Array.from({ length: 60 }, (_, index) => at(155 + (index % 8), 175 + (index >> 3)));
  const labels = placeLabels(crowd, frame, measure);
  expect(labels.length).toBeGreaterThan(1);
  expect(labels.length).toBeLessThan(20);
});
