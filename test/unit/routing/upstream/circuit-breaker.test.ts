import { beforeEach, expect, test, vi } from 'vitest';

import { CircuitBreaker } from '../../../../src/routing/upstream/circuit-breaker.ts';

let now = 0;
let circuit: CircuitBreaker;

beforeEach(() => {
  now = 1000;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  circuit = new CircuitBreaker();
});

/** How long it stays open, found by asking. */
function pause(): number {
  const from = now;
  while (!circuit.startProbe()) now += 1000;
  return now - from;
}

test('it opens at the first failure, and one caller alone probes once the pause is over', () => {
  const error = new Error('down');
  circuit.open(error);
  expect(circuit).toMatchObject({ isClosed: false, isOpen: true, error });
  now += 4999;
  expect(circuit.startProbe()).toBe(false);
  now++;
  expect([circuit.startProbe(), circuit.startProbe()]).toEqual([true, false]);
  expect(circuit).toMatchObject({ isClosed: false, isOpen: false, error });
  circuit.close();
  expect(circuit).toMatchObject({ isClosed: true, error: undefined });
});

test('pauses double up to a minute, also where probes succeed and requests fail', () => {
  const pauses = Array.from({ length: 6 }, (_, at) => {
    circuit.open(null);
    const length = pause();
    if (at % 2 === 0) circuit.close();
    return length;
  });
  expect(pauses).toEqual([5000, 10_000, 20_000, 40_000, 60_000, 60_000]);
  circuit.close();
  circuit.succeed();
  circuit.open(null);
  expect(pause()).toBe(5000);
});

test('a server that names a longer wait is given it', () => {
  circuit.open(null, 90_000);
  expect(pause()).toBe(90_000);
});

test('a request that was under way when the circuit opened does not close it', () => {
  circuit.open(null);
  circuit.succeed();
  expect(circuit.isClosed).toBe(false);
});
