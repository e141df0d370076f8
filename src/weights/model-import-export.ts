import { z } from 'zod';
import type { WeightFile } from '../catalog/catalog.ts';
import { byteCount, sha256Hex, weightPath } from '../catalog/weight-path.ts';
import { DESCRIPTION_FILE, type ImportedFile, type ModelDescription } from '../protocol/weights-messages.ts';
import { badRequest } from '../protocol/engine-error.ts';
import type { ModelStorage } from './model-storage.ts';
import type { WeightSources } from './sources/weight-sources.ts';
import type { WeightStore } from './weight-store.ts';

const descriptionSchema = z.object({
  version: z.literal(1),
  variant: z.string().min(1).max(200),
  files: z
    .array(z.object({ path: weightPath, bytes: byteCount, sha256: sha256Hex }))
    .min(1)
    .max(10_000),
});

const LARGEST_DESCRIPTION = 4 * 2 ** 20;

/** Takes models in and gives them out as files, for machines that never see a network. */
export class ModelImportExport {
  readonly #store: Promise<WeightStore>;
  readonly #library: ModelStorage;
  readonly #sources: Pick<WeightSources, 'keepFiles'>;

  constructor(store: Promise<WeightStore>, library: ModelStorage, sources: Pick<WeightSources, 'keepFiles'>) {
    this.#store = store;
    this.#library = library;
    this.#sources = sources;
  }

  /** @throws EngineError 400 `weights_missing` when it is not stored whole */
  async describe(target: string): Promise<ModelDescription> {
    const variant = await this.#library.name(target);
    const files = await this.#library.files(variant);
    const missing = await (await this.#store).missing(files);
    if (files.length === 0 || missing.length > 0) {
      throw badRequest(
        `${variant} is not stored completely: ${missing[0]?.path ?? 'none of its files'} is missing. Load the model, then export it.`,
        'target',
        'weights_missing',
      );
    }
    return {
      version: 1,
      variant,
      files: files.map(({ path, bytes, sha256 }) => ({ path, bytes, sha256 })),
    };
  }

  /** @throws EngineError 400 naming the file, when it is none of a model here, or not what its description says */
  async take(name: string, blob: Blob, signal: AbortSignal): Promise<ImportedFile> {
    if (name.split('/').at(-1) === DESCRIPTION_FILE) return this.#takeDescription(name, blob);
    const store = await this.#store;
    const known = await this.#library.known();
    const sameSize = known.flatMap(({ files }) => files).filter(({ bytes }) => bytes === blob.size);
    const byName = sameSize.toSorted(
      (a, b) => Number(sameName(b.path, name)) - Number(sameName(a.path, name)),
    );
    for (const file of byName) {
      try {
        await store.put(file, blob, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (file !== byName.at(-1)) continue;
        throw error;
      }
      const holders = known.filter(({ files }) => files.some(({ sha256 }) => sha256 === file.sha256));
      const completed: string[] = [];
      for (const { variant, files } of holders) {
        if ((await store.missing(files)).length === 0) completed.push(variant.name);
      }
      return { path: file.path, completed };
    }
    throw badRequest(
      `${name} (${blob.size} bytes) does not belong to a model in this site's catalog. Import the model's ${DESCRIPTION_FILE} first, then files of the same version.`,
      'import',
      'unknown_weights',
    );
  }

  async #takeDescription(name: string, blob: Blob): Promise<ImportedFile> {
    const description = await readDescription(name, blob);
    const known = await this.#library.known();
    const entry = known.find(({ variant }) => variant.name === description.variant);
    if (!entry) {
      throw badRequest(
        `${name} describes ${description.variant}, which this site's catalog does not have.`,
        'import',
        'unknown_weights',
      );
    }
    const { variant, files } = entry;
    // What the catalog, the manifest or the hub says of a variant is trusted more than a file that somebody passed on.
    if (files.length === 0) await this.#sources.keepFiles(variant, description.files);
    else if (!sameFiles(files, description.files)) {
      throw badRequest(
        `${name} does not match the known files of ${variant.name}. Import files of the same version. If the known ones came from an earlier import, delete ${variant.name} first.`,
        'import',
        'weights_conflict',
      );
    }
    return { path: null, completed: [] };
  }
}

const sameName = (path: string, name: string): boolean => path.split('/').at(-1) === name.split('/').at(-1);

function sameFiles(known: readonly WeightFile[], described: readonly WeightFile[]): boolean {
  const identity = ({ path, bytes, sha256 }: WeightFile): string => `${sha256} ${bytes} ${path}`;
  const expected = new Set(known.map(identity));
  return described.length === expected.size && described.every((file) => expected.delete(identity(file)));
}

async function readDescription(name: string, blob: Blob): Promise<ModelDescription> {
  const refuse = (how: string) => badRequest(`${name} ${how}.`, 'import', 'invalid_description');
  if (blob.size > LARGEST_DESCRIPTION) throw refuse('is too large for the description of a model');
  let value: unknown;
  try {
    value = JSON.parse(await blob.text());
  } catch {
    throw refuse('is not JSON, or cut short');
  }
  const parsed = descriptionSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw refuse(`is no description of a model: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`);
}
