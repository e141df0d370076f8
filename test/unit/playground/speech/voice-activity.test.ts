import { expect, test } from 'vitest';
import { VoiceActivity } from '../../../../playground/speech/voice-activity.ts';

/** @returns the states for levels of 50 ms each */
function states(levels: number[]): string[] {
  const activity = new VoiceActivity();
  return levels.map((level) => activity.take(level, 50));
}
const of = (count: number, level: number): number[] => Array.from({ length: count }, () => level);

test('speech begins after a quarter of a second and ends after a pause', () => {
  const heard = states([...of(20, 0.1), ...of(20, 0.7), ...of(10, 0.1), ...of(20, 0.7), ...of(30, 0.1)]);
  expect(heard.indexOf('speech')).toBe(24);
  // The short pause inside it is not its end.
  expect(heard.indexOf('ended')).toBe(70 + 23);
});

test('a click and the noise of a room are no speech', () => {
  expect(new Set(states([...of(20, 0.1), 0.9, 0.9, ...of(100, 0.1)]))).toEqual(new Set(['silence']));
  expect(new Set(states(of(200, 0.5)))).toEqual(new Set(['silence']));
});

test('speech above the noise of a room is heard', () => {
  expect(states([...of(20, 0.5), ...of(10, 0.8)])).toContain('speech');
});
