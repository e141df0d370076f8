import type { WeightFile } from '../catalog/catalog.ts';
import { weightBytes } from '../catalog/memory-estimate.ts';
import type { UsageIndex } from './usage-index.ts';

const PREFIX = 'unfinished/';
const KEPT_MS = 7 * 24 * 60 * 60 * 1000;

/** Whether it stands for a model whose adding was interrupted. */
export const isUnfinished = (name: string): boolean => name.startsWith(PREFIX);

const nameOf = (slug: string, files: readonly WeightFile[]): string =>
  `${PREFIX}${slug}-${(files[0]?.sha256 ?? '').slice(0, 8)}`;

export interface UnfinishedModelsOptions {
  index: UsageIndex;
  /** Deletes a variant, and its files that no other needs. */
  remove(name: string): Promise<void>;
  now(): number;
}

/** What was stored of added models until their adding was interrupted: listed, deletable, and kept for a week. */
export class UnfinishedModels {
  readonly #options: UnfinishedModelsOptions;

  constructor(options: UnfinishedModelsOptions) {
    this.#options = options;
  }

  /** The files that a model of that name will have, as far as they are known from the last time. */
  async expected(slug: string, bytes: number): Promise<WeightFile[]> {
    const entries = [...(await this.#options.index.entries())];
    const known = entries.find(([name]) => name.startsWith(`${PREFIX}${slug}-`))?.[1].files ?? [];
    const rest = bytes - weightBytes({ files: known });
    return rest === 0 ? known : [{ path: slug, bytes, sha256: 'to be added' }];
  }

  async keep(slug: string, files: WeightFile[]): Promise<void> {
    // No ids: it must not count as an earlier version of a model.
    await this.#options.index.set(nameOf(slug, files), { models: [], used: this.#options.now(), files });
  }

  /** It is finished: its files belong to a model. */
  async forget(slug: string, files: readonly WeightFile[]): Promise<void> {
    await this.#options.index.delete(nameOf(slug, files));
  }

  async drop(slug: string, files: readonly WeightFile[]): Promise<void> {
    const name = nameOf(slug, files);
    if ((await this.#options.index.entries()).has(name)) await this.#options.remove(name);
  }

  async dropExpired(): Promise<void> {
    const oldest = this.#options.now() - KEPT_MS;
    for (const [name, { used }] of await this.#options.index.entries())
      if (isUnfinished(name) && used < oldest) await this.#options.remove(name);
  }
}
