import { expect, test, vi } from 'vitest';

import { describeProgress, Progress } from '../../../../src/node/cli/progress.ts';

test('tells bytes, rate and time left', () => {
  expect(describeProgress('a.gguf', 45_200_000, 98_400_000, 20_000_000, 2_000)).toBe(
    'a.gguf: 45.2 of 98.4 MB, 10.0 MB/s, 6 s left',
  );
  expect(describeProgress('a', 1_000_000, 121_000_000, 1_000_000, 1_000)).toBe(
    'a: 1.0 of 121.0 MB, 1.0 MB/s, 2 min 0 s left',
  );
});

test('says nothing of a rate before anything came', () => {
  expect(describeProgress('a', 0, 98_400_000, 0, 500)).toBe('a: 0.0 of 98.4 MB');
  expect(describeProgress('a', 45_000_000, 44_000_000, 0, 500)).toBe('a: 44.0 of 44.0 MB');
});

test('one line that updates itself on a terminal, at most every 100 ms', () => {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  let output = '';
  const progress = new Progress({ isTTY: true, columns: 30, write: (text) => (output += text) });
  progress.begin('model', 10_000_000);
  for (now = 0; now <= 200; now += 50) progress.update(now * 10_000);
  progress.end();
  const lines = output.split('\r\u001B[2K');
  expect(lines).toHaveLength(5);
  for (const line of lines) expect(line.length).toBeLessThan(30);
  expect(output).not.toContain('\n');
});

test('few whole lines elsewhere', () => {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  let output = '';
  const progress = new Progress({ write: (text) => (output += text) });
  progress.begin('model', 10_000_000, 1_000_000);
  for (now = 0; now <= 20_000; now += 1_000) progress.update(1_000_000 + now * 100);
  progress.end();
  expect(output.trimEnd().split('\n')).toEqual([
    'model: 1.0 of 10.0 MB',
    'model: 2.0 of 10.0 MB, 0.1 MB/s, 1 min 20 s left',
    'model: 3.0 of 10.0 MB, 0.1 MB/s, 1 min 10 s left',
  ]);
});
