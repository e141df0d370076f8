import type { Catalog, Variant } from '../../catalog/catalog.ts';
import { estimateMemory, weightBytes } from '../../catalog/memory-estimate.ts';
import type { VariantEstimate } from '../../protocol/worker-control.ts';
import type { DownloadRate } from '../../model-files/download/download-rate.ts';
import type { WeightSources } from '../../model-files/sources/weight-sources.ts';

/** What each variant takes of this device: memory, and time for what is still to be downloaded. */
export class Estimates {
  readonly #sources: Pick<WeightSources, 'downloadBytes'>;
  readonly #rate: Pick<DownloadRate, 'bytesPerSecond'>;
  /** By the variant's name. */
  readonly #downloads = new Map<string, number>();

  constructor(sources: Pick<WeightSources, 'downloadBytes'>, rate: Pick<DownloadRate, 'bytesPerSecond'>) {
    this.#sources = sources;
    this.#rate = rate;
  }

  /** null: it runs elsewhere. */
  of(variant: Variant): VariantEstimate | null {
    if (variant.engine === 'upstream') return null;
    const downloadBytes = this.#downloads.get(variant.name) ?? weightBytes(variant);
    const { bytesPerSecond } = this.#rate;
    return {
      ...estimateMemory(variant),
      downloadBytes,
      ...(bytesPerSecond !== null && { downloadSeconds: Math.ceil(downloadBytes / bytesPerSecond) }),
    };
  }

  /** Looks up what is stored. Never rejects: the estimate is for people. */
  async refresh({ models }: Pick<Catalog, 'models'>): Promise<void> {
    const variants = models.flatMap((model) => model.variants);
    await Promise.all(variants.map((variant) => this.refreshOne(variant)));
  }

  async refreshOne(variant: Variant): Promise<void> {
    if (variant.engine === 'upstream') return;
    const bytes = await this.#sources.downloadBytes(variant).catch(() => weightBytes(variant));
    this.#downloads.set(variant.name, bytes);
  }
}
