import type { FileRole } from '#catalog';
import { serverError } from '#base';
import { FormatError, type GgufTraits, inspectModel, openGguf, startOfBlob } from '#gguf';
import type { WllamaVariant } from './rules.ts';

interface InspectedVariant {
  traits: GgufTraits;
  /** Parts of the model in order, then the others. */
  blobs: Blob[];
  /** Roles of the blobs according to their headers; undefined for parts of the model. */
  roles: (FileRole | undefined)[];
}

/**
 * Reads the headers of a variant's files: a catalog may name other files, or in another order. llama.cpp loads many of them
 * and computes nonsense.
 * @throws ServiceError `model_load_failed` naming the file
 */
export async function inspectVariant(
  variant: WllamaVariant,
  given: readonly Blob[],
): Promise<InspectedVariant> {
  const named = given.map((blob, at) => ({
    ...startOfBlob(blob),
    name: variant.files[at]?.path ?? '',
    blob,
  }));
  try {
    const { traits, files, roles } = await inspectModel(named, ({ blob }) => openGguf(blob));
    const fault = kindFault(variant, traits);
    if (fault !== null) throw new FormatError(`${files[0]?.name} ${fault}`);
    return { traits, blobs: files.map(({ blob }) => blob), roles: files.map((file) => roles.get(file)) };
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    const message = `The model ${variant.name} could not be loaded: ${error.message}. Correct the model's files or fields in the catalog.`;
    throw serverError('model_load_failed', message);
  }
}

/** What makes a file unfit for what its variant is to compute, as a phrase that follows its name; null if it is fit. */
function kindFault(
  { dimensions, pooling }: WllamaVariant,
  { embedding, reranks, guessesPooling }: GgufTraits,
): string | null {
  if (pooling === 'rank')
    return reranks ? null : "is not that of a reranker, as `pooling: 'rank'` says: it has no classifier";
  if (dimensions !== undefined && (pooling !== undefined || (embedding && !guessesPooling))) return null;
  if (reranks) return "is that of a reranker: give the variant `pooling: 'rank'`, or use another file";
  if (dimensions !== undefined) return 'names no pooling: give the variant `pooling`';
  if (!embedding) return null;
  return `is that of an embedding model: give the variant \`dimensions: ${embedding.dimensions}\` and \`pooling: '${embedding.pooling}'\`, or use another file`;
}
