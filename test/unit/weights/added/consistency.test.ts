import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';

import { beforeAll, expect, test, vi } from 'vitest';

import type { AddedModelRecord } from '../../../../src/catalog/added-models.ts';
import type { Catalog, WeightFile } from '../../../../src/catalog/catalog.ts';
import { ServiceError } from '../../../../src/base/errors/service-error.ts';
import { MemoryBackend } from '../../../../src/weights/backends/open-backend.ts';
import type { BackendWriter, StorageBackend } from '../../../../src/weights/backends/storage-backend.ts';
import { FakeLocks } from '../../../support/fake-locks.ts';
import { ggufVariant } from '../../../support/catalogs.ts';
import { chatMetadata, oneTensor, writeGguf } from '../../../support/write-gguf.ts';
import { fileOf } from '../file-server.ts';
import { openStore } from '../open-store.ts';
import { weightsService } from '../weights-service.ts';
import { adderOf } from './adder-of.ts';
import { never } from '../../../support/never.ts';

vi.mock('../../../../src/chat-template/prompt-renderer.ts', () => import('./template-without-worker.ts'));

const SEEDS = 80;
const STEPS = 400;
const SCOPES = ['/', '/other/'];

const chat = (name: string): Buffer<ArrayBuffer> =>
  writeGguf({ metadata: { ...chatMetadata, 'general.name': name }, tensors: [oneTensor] });
const projector = writeGguf({
  metadata: { 'general.architecture': 'clip', 'clip.projector_type': 'idefics3' },
  tensors: [{ ...oneTensor, name: 'v.patch_embd.weight' }],
});
/** Models that the user adds. Two share a file. */
const MODELS = [[chat('a')], [projector, chat('b')], [projector, chat('c')]];
/** Files of the site. One is that of a model that the user adds. */
const SITE = [MODELS[0]?.[0] ?? chat('a'), chat('1'), chat('2'), chat('3')].map((bytes, index) => ({
  bytes,
  file: fileOf(bytes, `site/${index}.gguf`),
}));
/** Versions of the site, which change between restarts: one variant gets other bytes, one another name. */
const CATALOGS = [0, 2].map((version): Catalog => ({
  ownedBy: 'site',
  models: ['v', `v${version}`].map((name, at) => ({
    id: `site-${at}`,
    kind: 'chat',
    created: 0,
    variants: [
      ggufVariant(name, { files: SITE.slice(version + at, version + at + 1).map(({ file }) => file) }),
    ],
  })),
}));

/** What the apps of one origin share: disk, locks, and the order in which their work goes on. */
class Origin {
  readonly disk = new MemoryBackend();
  readonly locks = new FakeLocks();
  readonly saved = new Map<string, AddedModelRecord[]>(SCOPES.map((scope) => [scope, []]));
  isFull = false;
  /** Whether a deletion may find that another app holds a file's lock for too long. */
  timesOut = true;
  readonly #waiting: (() => void)[] = [];
  #seed: number;

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** A number from 0 to below `bound`. */
  random(bound: number): number {
    this.#seed = (Math.imul(this.#seed, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((this.#seed / 2 ** 32) * bound);
  }

  turn(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Aborts some time after other accesses, or never. */
  timeout(): AbortSignal {
    const limit = new AbortController();
    if (this.random(4) === 0)
      void this.turn().then(() => this.timesOut && limit.abort(new DOMException('late', 'TimeoutError')));
    return limit.signal;
  }

  async until(ended: Promise<unknown>): Promise<void> {
    const state = { isEnded: false };
    void ended.finally(() => (state.isEnded = true));
    while (!state.isEnded) await this.step();
  }

  async step(): Promise<void> {
    // Some steps between two accesses take several turns of the event loop.
    for (let tries = 0; this.#waiting.length === 0 && tries < 50; tries++) await setImmediate();
    await setImmediate();
    this.#waiting.splice(this.random(this.#waiting.length), 1)[0]?.();
  }
}

const bytesOf = async (blob: Blob) => new Uint8Array(await blob.arrayBuffer());

type Worker = ReturnType<typeof startWorker>;

/** An engine worker, which a crash ends between any two accesses to the disk, the list or the locks. */
function startWorker(origin: Origin, scope: string, catalog: Catalog) {
  let isDead = false;
  let die = (): void => undefined;
  const death = new Promise<void>((resolve) => (die = resolve));
  const hang = new Promise<never>(() => undefined);
  const during = async <T>(work: () => Promise<T>): Promise<T> => {
    await origin.turn();
    if (isDead) return hang;
    const result = await work();
    return isDead ? hang : result;
  };
  const { disk } = origin;
  const change = (work: () => Promise<void>) =>
    during(async () => {
      if (origin.isFull) throw new DOMException('full', 'QuotaExceededError');
      await work();
    });
  const backend: StorageBackend = {
    kind: 'memory',
    read: (name) => during(() => disk.read(name)),
    async write(name): Promise<BackendWriter> {
      const writer = await during(() => disk.write(name));
      const replace = (content: (old: Blob) => Blob) =>
        change(async () => {
          const bytes = await bytesOf(content((await disk.read(name)) ?? new Blob()));
          // Nothing is written after the end.
          if (!isDead) await writer.write(bytes, 0);
        });
      return {
        ...writer,
        // As in a file, a shorter text does not remove the end of a longer one, before it is cut off.
        write: (bytes) => replace((old) => new Blob([bytes, old.slice(bytes.length)])),
        resize: (size) => replace((old) => old.slice(0, size)),
      };
    },
    remove: (name) => during(() => disk.remove(name)),
    names: (prefix) => during(() => disk.names(prefix)),
    free: async () => null,
  };
  const manager = {
    async request(name: string, options: LockOptions, callback: (lock: Lock | null) => unknown) {
      const hold = (lock: Lock | null) => (isDead ? null : Promise.race([callback(lock), death]));
      const result: unknown = await origin.locks.manager.request(name, options, hold);
      return isDead ? hang : result;
    },
    query: () => origin.locks.manager.query(),
  } as unknown as LockManager;
  const store = openStore(backend, 'http://site.test/', { manager }, scope);
  const loading = new Set<string>();
  const service = weightsService(catalog, {
    weights: store,
    evict: true,
    inUse: (name) => loading.has(name),
    release: async (name) => !loading.has(name),
  });
  const saved = origin.saved.get(scope) ?? [];
  const adder = adderOf(catalog, service, saved, {
    read: () => during(async () => [...saved]),
    save: (records) => during(async () => void saved.splice(0, saved.length, ...records)),
    requestFiles: async (ticket) => (MODELS[Number(ticket)] ?? []).map((bytes) => new Blob([bytes])),
  });
  return {
    service,
    add(model: number, signal: AbortSignal) {
      const names = (MODELS[model] ?? []).map((_, index) => `${index}.gguf`);
      const source = { type: 'files', names, ticket: String(model) } as const;
      return adder.add({ type: 'add', id: null, source }, signal, () => undefined);
    },
    remove: (id: string) => adder.delete(id),
    async import(at: number) {
      const blob = new Blob([SITE[at]?.bytes ?? '']);
      await service.run({ type: 'import', name: 'a.gguf', blob }, never);
    },
    async load(model: number) {
      const variant = catalog.models[model]?.variants[0];
      if (!variant || loading.has(variant.name)) return;
      loading.add(variant.name);
      await service.modelStorage.makeRoom(variant.files);
      try {
        await service.modelStorage.note(variant.name, variant.files);
        for (const file of variant.files)
          await store.file(file, { signal: never, onProgress: () => undefined });
      } finally {
        loading.delete(variant.name);
      }
      await service.modelStorage.used(variant);
    },
    crash() {
      isDead = true;
      die();
    },
  };
}

/** Runs commands of two apps at random, with crashes, restarts and a storage that is full at times. */
async function live(origin: Origin): Promise<void> {
  const workers = new Map<string, Worker>();
  const restart = (scope: string): Worker => {
    workers.get(scope)?.crash();
    const worker = startWorker(origin, scope, CATALOGS[origin.random(2)] as Catalog);
    workers.set(scope, worker);
    return worker;
  };
  const act = async (worker: Worker, scope: string): Promise<void> => {
    const abort = new AbortController();
    const variant = ['v', 'v0', 'v2'][origin.random(3)] ?? 'v';
    const target = origin.saved.get(scope)?.[origin.random(3)]?.model.id ?? 'a';
    switch (origin.random(9)) {
      case 0:
        void origin.turn().then(() => abort.abort());
        return void (await worker.add(origin.random(3), abort.signal));
      case 1:
      case 2:
        return void (await worker.add(origin.random(3), never));
      case 3:
        return worker.remove(target);
      case 4:
        return worker.service.modelStorage.delete(variant);
      case 5:
        return worker.service.modelStorage.makeRoom([], true);
      case 6:
        return worker.import(origin.random(SITE.length));
      default:
        return worker.load(origin.random(2));
    }
  };
  SCOPES.forEach(restart);
  for (let step = 0; step < STEPS; step++) {
    await origin.step();
    const scope = SCOPES[origin.random(2)] ?? '/';
    const worker = workers.get(scope) ?? restart(scope);
    if (origin.random(100) === 0) restart(scope);
    else if (origin.random(12) === 0)
      act(worker, scope).catch((error: unknown) => {
        if (!(error instanceof ServiceError || (error as Error).name === 'AbortError')) throw error;
      });
    origin.isFull = origin.random(40) === 0;
  }
  for (const worker of workers.values()) worker.crash();
}

/** Takes threads and clocks out of a run: a seed always gives the same order. */
function start(seed: number): Origin {
  const origin = new Origin(seed + 1);
  vi.stubGlobal(
    'fetch',
    async (url: string) => new Response(SITE.find(({ file }) => url.endsWith(file.path))?.bytes),
  );
  vi.spyOn(crypto.subtle, 'digest').mockImplementation(
    async (_, bytes) =>
      Uint8Array.from(
        createHash('sha256')
          .update(bytes as Uint8Array)
          .digest(),
      ).buffer,
  );
  vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => origin.timeout());
  return origin;
}

beforeAll(async () => {
  // Modules that are imported on first use.
  const origin = start(0);
  const worker = startWorker(origin, '/', CATALOGS[0] as Catalog);
  await origin.until(Promise.all([worker.load(0), worker.add(2, never)]));
  worker.crash();
});

test.for(Array.from({ length: SEEDS }, (_, seed) => seed))(
  'adds, imports, loads, deletions and crashes of two apps at random (seed %i): no record without files, no file without a record',
  async (seed) => {
    const origin = start(seed);
    await live(origin);
    origin.isFull = origin.timesOut = false;
    const later = Date.now() + 8 * 24 * 60 * 60 * 1000;
    vi.spyOn(Date, 'now').mockReturnValue(later);
    const workers = SCOPES.map((scope) => startWorker(origin, scope, CATALOGS[1] as Catalog));
    // An add waits until what is expired has gone.
    const ended = Promise.allSettled(workers.map((worker) => worker.add(0, AbortSignal.abort())));
    await origin.until(ended);

    const named = new Set<string>();
    for (const note of await origin.disk.names('usage')) {
      const [text = ''] = ((await (await origin.disk.read(note))?.text()) ?? '').split('\n');
      const entries = Object.entries(
        JSON.parse(text) as Record<string, { files: WeightFile[]; unfinished: boolean }>,
      );
      for (const [, { files }] of entries) for (const { sha256 } of files) named.add(sha256);
      const listed = new Set([...origin.saved.values()].flat().map(({ variant }) => variant.name));
      expect(entries.filter(([name, { unfinished }]) => unfinished && !listed.has(name))).toEqual([]);
    }
    const stored = (await origin.disk.names('')).filter((name) => /^[0-9a-f]{64}/.test(name));
    expect(stored.filter((name) => !named.has(name.slice(0, 64)))).toEqual([]);
    for (const records of origin.saved.values())
      for (const { variant } of records) {
        const whole = await Promise.all(
          variant.files.map(
            async ({ sha256 }) => (await origin.disk.read(`${sha256}.json`)) && origin.disk.read(sha256),
          ),
        );
        expect(whole).not.toContain(null);
      }
  },
);
