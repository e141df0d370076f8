/** All constants of the policy that decides who goes first. Times are in milliseconds, lengths in characters. */
export const POLICY = {
  /** Work that takes an engine as long as one token of a reply. */
  work: {
    /** Minimum number of a prompt's tokens that are computed in that time. */
    promptTokens: 10,
    /** Approximate number of a prompt's tokens that an image takes. */
    imageTokens: 500,
    /** A decision's question, in reply tokens: a prompt, and a step that scores the first tokens of all options. */
    question: 8,
    /** An option, in reply tokens. */
    option: 2,
    /** Maximum number of an option's further tokens that are computed: of one, and of all options of a question. */
    optionTail: 8,
    optionTails: 64,
    /** Bytes of compressed sound. */
    soundBytes: 1024,
    /** Bytes of a wav file. */
    wavBytes: 4096,
    /** Characters that are spoken while a chat's token is generated. */
    speechCharacters: 10,
  },
  job: {
    /** Maximum number of jobs that wait for one model's slots. */
    maxQueued: 64,
    /** Assumed duration of a job before the first one has finished. */
    firstGuess: 5000,
    /** Maximum work of a brief job, in reply tokens. */
    brief: 32,
    /** Maximum work of a short job, in reply tokens. */
    short: 128,
    /** How long a job waits behind others, at most, while its client has no slot. */
    maxWait: 30_000,
    /** How long a job keeps its client's only slot while another client has none. */
    keepsOnlySlot: 5000,
    /** Added with each pause to how long a job keeps its slot: it finishes under any load. */
    keepsPerPause: 1000,
    /** How often a job may be paused inside a long part of its answer, which is then computed again. */
    maxCutParts: 2,
    /** How long a job whose answer is not read keeps its slot while others wait. */
    unread: 5000,
    /** The same for a job that would have to restart. */
    unreadRestarting: 30_000,
  },
  prompt: {
    /** How often a long prompt lets shorter ones go first. After that, it alternates with them. */
    maxPutAside: 8,
    /** Time slice of each then. */
    slice: 2000,
    /** How long a new reply is protected from a much longer prompt, and until which length: it may be short. */
    fresh: 1000,
    freshText: 80,
    /** How long a prompt that lets shorter ones go first waits for new replies at most. */
    patience: 5000,
    /** Minimum difference in length for which a prompt is put aside. */
    margin: 200,
    /** Minimum uncached length to compute a prompt ahead, so that others can copy its state. */
    sharing: 400,
    /** Minimum length of a state worth saving: saving takes a few milliseconds, computing it about a second. */
    keeping: 200,
  },
  part: {
    /** Number of parts of which one belongs to the request that has waited longest. */
    oldestEvery: 4,
  },
} as const;

/**
 * Which jobs a job yields its slot to:
 *
 * | class     | yields to                              | waits for                              |
 * | --------- | -------------------------------------- | -------------------------------------- |
 * | `none`    | no job                                 | clients with fewer slots               |
 * | `fixed`   | no job                                 | also its client's others, for the last slot |
 * | `sharing` | jobs of a client with fewer slots      | clients with fewer slots               |
 * | `short`   | all jobs that are neither short nor long | these jobs                           |
 * | `long`    | also short jobs, but for one long job  | also short jobs, and another long job  |
 */
export type JobClass = 'none' | 'fixed' | 'sharing' | 'short' | 'long';

export interface JobTraits {
  /** Estimated work, in reply tokens. */
  work: number;
  /** Whether its answer is not streamed. */
  isBackground: boolean;
  /** Whether it must restart from its beginning after a pause. */
  restarts: boolean;
  /** Whether it yields its slot even if it is brief and not streamed. */
  yieldsWhenBrief: boolean;
}

export function classOf({ work, isBackground, restarts, yieldsWhenBrief }: JobTraits): JobClass {
  const { brief, short } = POLICY.job;
  if (work > brief && restarts) return 'fixed';
  if (work > brief && isBackground) return work <= short ? 'short' : 'long';
  if (work > brief) return 'sharing';
  return isBackground && yieldsWhenBrief && !restarts ? 'sharing' : 'none';
}

/** A job as the policy sees it. */
export interface JobView {
  /** Client id. Jobs of one client share its slots. */
  readonly client: string;
  readonly class: JobClass;
  /** How often it was paused before. */
  readonly pauses: number;
  /** Whether its client may have abandoned it unnoticed, which is possible if its answer is not streamed. */
  readonly mayBeAbandoned: boolean;
}

/** A job that waits, or runs, since a time. */
export interface Since<Job> {
  readonly job: Job;
  readonly since: number;
}

export interface Served {
  readonly count: number;
  readonly at: number;
}

export interface JobsView<Job extends JobView = JobView> {
  readonly slots: number;
  /** In order of arrival. */
  readonly waiting: readonly Since<Job>[];
  /** In order of their begin. */
  readonly running: readonly Since<Job>[];
  /** Clients that were served while jobs waited: how many of their jobs began, and when one last began or ended. */
  readonly served: ReadonlyMap<string, Served>;
}

export interface Decision<Job> {
  /** Waiting job to begin now, and how it is seen while it runs. The policy is then asked again. */
  readonly begin?: { job: Job; as: Job };
  /** Running jobs to pause, each at a time. */
  readonly pause?: readonly { job: Job; at: number }[];
  /** Time at which to ask again, if nothing happens before. */
  readonly again?: number;
}

const RANKS: Record<JobClass, number> = { none: 0, fixed: 0, sharing: 0, short: 1, long: 2 };
const LONG = RANKS.long;

const rankOf = ({ job }: Since<JobView>): number => RANKS[job.class];

/** Decides which job of a model begins, and which are paused. */
export function nextJob<Job extends JobView>(all: JobsView<Job>, now: number): Decision<Job> {
  const view = { ...all, waiting: all.waiting.filter((waiter) => !waitsForFixed(waiter, all)) };
  const { slots, running } = view;
  const [first] = byPriority(view, now);
  if (first && running.length < slots && !waitsForLong(first, view, now)) {
    const next = latestInDoubt(first, view, now);
    const isOverdue = waitingRank(next, view, now) < rankOf(next);
    return { begin: { job: next.job, as: isOverdue ? { ...next.job, class: 'sharing' } : next.job } };
  }
  const pause = excess(view, first, now).map((runner) => ({ job: runner.job, at: keepsUntil(runner, view) }));
  const overdue = view.waiting.map((waiter) => overdueAt(waiter, view)).filter((at) => at > now);
  return { pause, ...(overdue.length > 0 && { again: Math.min(...overdue) }) };
}

/** The waiting job to refuse if too many wait: the last of the client with the most waiting jobs. */
export function lastOfMost<Job extends JobView>(view: JobsView<Job>, now: number): Job | undefined {
  const counts = new Map<string, number>();
  for (const { job } of view.waiting) counts.set(job.client, (counts.get(job.client) ?? 0) + 1);
  const most = Math.max(...counts.values());
  return byPriority(view, now).findLast(({ job }) => counts.get(job.client) === most)?.job;
}

const slotsOf = ({ running }: JobsView, client: string): number =>
  running.filter(({ job }) => job.client === client).length;

/** Rank of a waiting job. Once its client has had no slot for long, it is as that of a sharing job. */
function waitingRank(waiter: Since<JobView>, view: JobsView, now: number): number {
  const isOverdue = overdueAt(waiter, view) <= now && slotsOf(view, waiter.job.client) === 0;
  return isOverdue ? 0 : rankOf(waiter);
}

const overdueAt = ({ job, since }: Since<JobView>, { served }: JobsView): number =>
  Math.max(since, served.get(job.client)?.at ?? 0) + POLICY.job.maxWait;

/** Waiting jobs by rank, then those of the client with the fewest slots, then of the client served least recently. */
function byPriority<Job extends JobView>(view: JobsView<Job>, now: number): Since<Job>[] {
  const lastOf = ({ job }: Since<Job>): number => view.served.get(job.client)?.at ?? -1;
  return view.waiting.toSorted(
    (a, b) =>
      waitingRank(a, view, now) - waitingRank(b, view, now) ||
      slotsOf(view, a.job.client) - slotsOf(view, b.job.client) ||
      lastOf(a) - lastOf(b),
  );
}

/**
 * The job to begin in the place of `first`. Every second time this is the latest of the client's jobs that may have been
 * abandoned: it may be the only job that the client still waits for.
 */
function latestInDoubt<Job extends JobView>(first: Since<Job>, view: JobsView<Job>, now: number): Since<Job> {
  const { client } = first.job;
  const isInDoubt = (waiter: Since<Job>): boolean =>
    waiter.job.client === client && waiter.job.mayBeAbandoned && waitingRank(waiter, view, now) === 0;
  const isOldestNext = (view.served.get(client)?.count ?? 0) % 2 === 1;
  return isOldestNext || !isInDoubt(first) ? first : (view.waiting.findLast(isInDoubt) ?? first);
}

/** Whether a job would take the last slot beside its client's jobs that yield to none: it would be gone for minutes. */
const waitsForFixed = ({ job }: Since<JobView>, { running, slots }: JobsView): boolean => {
  const fixed = running.filter((runner) => runner.job.class === 'fixed');
  const hasOne = fixed.some((runner) => runner.job.client === job.client);
  return job.class === 'fixed' && hasOne && fixed.length + 1 >= slots;
};

/** Whether a long job must wait, as a long job runs beside others. */
function waitsForLong(first: Since<JobView>, view: JobsView, now: number): boolean {
  const { running, slots } = view;
  if (slots === Infinity || waitingRank(first, view, now) < LONG) return false;
  const long = running.filter((runner) => rankOf(runner) === LONG).length;
  return long > 0 && long < running.length;
}

/** Running jobs to pause. */
function excess<Job extends JobView>(
  view: JobsView<Job>,
  first: Since<Job> | undefined,
  now: number,
): Since<Job>[] {
  if (view.slots === Infinity) return [];
  // Those that need not wait, the latest first. The same one each time would keep its slot for longer and longer.
  const until = (runner: Since<Job>): number => Math.max(now, keepsUntil(runner, view));
  const running = view.running.toReversed().toSorted((a, b) => until(a) - until(b));
  const ranks = view.waiting.map((waiter) => waitingRank(waiter, view, now));
  const isWaiting = ranks.some((rank) => rank < LONG);
  const long = running.filter((runner) => rankOf(runner) === LONG);
  if (long.length > 0) {
    // One long job may stay beside others, unless others wait for its slot.
    if (isWaiting && long.length === 1) return long;
    return isWaiting || running.length > long.length ? long.slice(0, -1) : [];
  }
  const short = running.filter((runner) => rankOf(runner) === RANKS.short);
  const forFirst = short.slice(0, ranks.filter((rank) => rank === 0).length);
  return forFirst.length > 0 ? forFirst : unshared(view, first, running, now);
}

/**
 * The job to pause for a waiting client with fewer slots: the latest of the largest holder, or the oldest if each has
 * one.
 */
function unshared<Job extends JobView>(
  view: JobsView<Job>,
  first: Since<Job> | undefined,
  running: Since<Job>[],
  now: number,
): Since<Job>[] {
  if (!first || running.length < view.slots || waitingRank(first, view, now) > 0) return [];
  const has = slotsOf(view, first.job.client);
  const yielding = running.filter(({ job }) => job.class !== 'none' && job.class !== 'fixed');
  const most = Math.max(0, ...yielding.map(({ job }) => slotsOf(view, job.client)));
  const holders = yielding.filter(({ job }) => slotsOf(view, job.client) === most);
  if (most > has + 1) return holders.slice(0, 1);
  return most === 1 && has === 0 ? view.running.filter((each) => holders.includes(each)).slice(0, 1) : [];
}

/** Until when a running job keeps its slot. Of several long jobs, one stays in any case. */
function keepsUntil({ job, since }: Since<JobView>, view: JobsView): number {
  const { keepsOnlySlot, keepsPerPause } = POLICY.job;
  const more = job.pauses * keepsPerPause;
  if (job.class === 'long' && view.running.filter((runner) => rankOf(runner) === LONG).length > 1)
    return since;
  if (job.class !== 'sharing') return since + more;
  return since + (slotsOf(view, job.client) === 1 ? keepsOnlySlot + more : Math.min(keepsOnlySlot, more));
}

/** A request that is computed in parts, one at a time. */
export interface Parts {
  /** Client id. */
  readonly client: string;
  /** Number of parts still to compute. */
  left: number;
  /** Number of requests that arrived before. Several queues may share the request: the number is that at the first. */
  readonly arrived: number;
}

/**
 * Picks the request whose part is computed next. Clients take turns. In a client's turn it is the one with the fewest
 * parts left, the latest if several have as few, and every fourth time the one that has waited longest: a short request
 * then does not wait for all long or abandoned ones.
 * @param requests in the order in which they began to wait
 * @param served how many parts of a client were computed, and the number of the last
 */
export function nextPart<Request extends Parts>(
  requests: readonly Request[],
  served: ReadonlyMap<string, Served>,
): Request | undefined {
  const lastOf = ({ client }: Request): number => served.get(client)?.at ?? -1;
  const earliest = requests.reduce((least, each) => Math.min(least, lastOf(each)), Infinity);
  const due = requests.filter((each) => lastOf(each) === earliest);
  const { count = 0 } = served.get(due[0]?.client ?? '') ?? {};
  if (count % POLICY.part.oldestEvery === POLICY.part.oldestEvery - 1) return due[0];
  return due.toSorted((a, b) => a.left - b.left || b.arrived - a.arrived)[0];
}
