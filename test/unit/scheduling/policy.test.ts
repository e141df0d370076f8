import { describe, expect, test } from 'vitest';

import {
  type JobClass,
  type JobsView,
  type JobView,
  nextJob,
  POLICY,
  type Served,
  type Since,
} from '../../../src/scheduling/policy.ts';
import { Random } from '../../chaos/random.ts';

/** Longest time that each class computes: replies with few tokens, or minutes. */
const LONGEST_MS: Record<JobClass, number> = { none: 4e3, fixed: 9e4, sharing: 2e4, short: 1e4, long: 9e4 };
const CLASSES = Object.keys(LONGEST_MS) as JobClass[];

interface Simulated extends JobView {
  left: number;
  arrived: number;
  /** Time at which it first got a slot. */
  begun?: number;
}

/** Simulates one model's slots under `nextJob()`. Paused jobs queue again, and go on from where they were. */
class Simulation {
  now = 0;
  readonly slots: number;
  readonly ended: Simulated[] = [];
  #waiting: Since<Simulated>[] = [];
  #running: Since<Simulated>[] = [];
  readonly #served = new Map<string, Served>();

  constructor(slots: number) {
    this.slots = slots;
  }

  get view(): JobsView<Simulated> {
    return { slots: this.slots, waiting: this.#waiting, running: this.#running, served: this.#served };
  }

  add(client: string, jobClass: JobClass, ms: number, mayBeAbandoned = false): Simulated {
    const job = { client, class: jobClass, pauses: 0, mayBeAbandoned, left: ms, arrived: this.now };
    this.#waiting.push({ job, since: this.now });
    return job;
  }

  /** Runs until `until`. */
  run(until: number): void {
    for (;;) {
      const pauses = this.#settle();
      const ends = this.#running.map(({ job, since }) => since + job.left);
      const next = Math.min(until, ...ends, ...pauses);
      this.now = next;
      const isEnded = ({ job, since }: Since<Simulated>): boolean => since + job.left <= next;
      this.ended.push(...this.#running.filter(isEnded).map(({ job }) => job));
      for (const { job } of this.#running.filter(isEnded)) this.#serve(job, 0);
      this.#running = this.#running.filter((each) => !isEnded(each));
      if (next === until) return;
    }
  }

  /** Begins and pauses jobs. @returns times at which the policy is to be asked again */
  #settle(): number[] {
    for (;;) {
      if (this.#waiting.length === 0) this.#served.clear();
      const { begin, pause = [], again } = nextJob(this.view, this.now);
      if (begin) this.#begin(begin);
      else {
        const due = pause.find(({ at }) => at <= this.now);
        if (!due) return [...pause.map(({ at }) => at), ...(again === undefined ? [] : [again])];
        this.#pause(due.job);
      }
      expect(this.#running.length).toBeLessThanOrEqual(this.slots);
    }
  }

  #begin({ job, as }: { job: Simulated; as: Simulated }): void {
    job.begun ??= this.now;
    this.#serve(job, 1);
    this.#waiting = this.#waiting.filter((each) => each.job !== job);
    this.#running.push({ job: as, since: this.now });
  }

  #serve({ client }: Simulated, begun: number): void {
    this.#served.set(client, { count: (this.#served.get(client)?.count ?? 0) + begun, at: this.now });
  }

  #pause(job: Simulated): void {
    this.#serve(job, 0);
    expect(['sharing', 'short', 'long']).toContain(job.class);
    const runner = this.#running.find((each) => each.job === job);
    this.#running = this.#running.filter((each) => each !== runner);
    const left = job.left - (this.now - (runner?.since ?? 0));
    this.#waiting.push({ job: { ...job, left, pauses: job.pauses + 1 }, since: this.now });
  }
}

const SEEDS = Array.from({ length: 40 }, (_, seed) => seed + 1);

test.each([2, 4])('%i slots: chats wait no longer for another client’s streams each time', (slots) => {
  const simulation = new Simulation(slots);
  for (let at = 0; at < slots; at++) simulation.add('flood', 'sharing', 600_000);
  for (let chat = 0; chat < 100; chat++) {
    simulation.run(simulation.now + 1000);
    const job = simulation.add('other', 'none', 1000);
    simulation.run(simulation.now + POLICY.job.keepsOnlySlot);
    expect(job.begun).toBeDefined();
  }
  simulation.run(1e9);
  expect(simulation.ended).toHaveLength(100 + slots);
});

describe.each([1, 2, 4])('%i slots', (slots) => {
  test.each(SEEDS)('every job ends, and no slot stays free beside a job that may run (seed %i)', (seed) => {
    const random = new Random(seed);
    const simulation = new Simulation(slots);
    const count = 60;
    for (let at = 0; at < count; at++) {
      const jobClass = random.pick(CLASSES);
      const ms = random.next() * LONGEST_MS[jobClass];
      simulation.add(`c${random.below(4)}`, jobClass, ms, random.next() < 0.5);
      simulation.run(simulation.now + random.next() * 3000);
      const { waiting, running } = simulation.view;
      const mayRun = waiting.some(({ job }) => job.class !== 'long' && job.class !== 'fixed');
      if (mayRun) expect(running).toHaveLength(slots);
    }
    simulation.run(1e9);
    expect(simulation.ended).toHaveLength(count);
  });

  test.each(CLASSES.flatMap((flood) => CLASSES.map((own) => [flood, own] as const)))(
    'a client whose queue is always full of jobs of the class %s holds up no other client’s one of the class %s',
    (flood, own) => {
      for (const seed of SEEDS.slice(0, 10)) {
        const random = new Random(seed);
        const simulation = new Simulation(slots);
        const refill = (): void => {
          while (simulation.view.waiting.filter(({ job }) => job.client === 'flood').length < 20)
            simulation.add('flood', flood, random.next() * LONGEST_MS[flood], random.next() < 0.5);
        };
        for (let at = 0; at < 30; at++) {
          refill();
          simulation.run(simulation.now + 1000);
        }
        const job = simulation.add('other', own, 1000);
        while (job.begun === undefined && simulation.now < 1e6) {
          refill();
          simulation.run(simulation.now + 500);
        }
        const { maxWait, keepsOnlySlot } = POLICY.job;
        const mayWait = own === 'short' || own === 'long' ? maxWait : 0;
        // A single slot is free when its job has ended.
        const whole = LONGEST_MS[flood === 'fixed' && slots === 1 ? 'fixed' : 'none'];
        const mostMs = mayWait + keepsOnlySlot + whole + 500;
        expect((job.begun ?? Infinity) - job.arrived).toBeLessThanOrEqual(mostMs);
      }
    },
  );

  test('a brief job begins at once beside a client’s own long jobs', () => {
    const simulation = new Simulation(slots);
    for (let at = 0; at < 20; at++) simulation.add('c', 'long', 90_000);
    simulation.run(10_000);
    const brief = simulation.add('c', 'none', 1000);
    simulation.run(simulation.now + 1);
    expect(brief.begun).toBe(brief.arrived);
  });
});
