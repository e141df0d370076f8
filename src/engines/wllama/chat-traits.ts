import { serverError, type ServiceError } from '#base';
import { FormatError, ggufTraits, openGguf, OtherModelError, type GgufTraits } from '#gguf';

/**
 * Reads the header of a chat model's file; null if it is malformed, for which llama.cpp reports the reason.
 * @throws ServiceError `model_load_failed` for a model of another kind, which llama.cpp would load anyway
 */
export async function chatTraits(variant: string, file: Blob): Promise<GgufTraits | null> {
  const traits = await openGguf(file)
    .then(({ header, cursor }) => ggufTraits(header, cursor))
    .catch((error: unknown) => {
      if (error instanceof OtherModelError)
        throw otherModel(variant, error.message, 'Use the file of a chat model.');
      if (error instanceof FormatError) return null;
      throw error;
    });
  const { embedding, reranks } = traits ?? {};
  if (reranks)
    throw otherModel(
      variant,
      'is that of a reranker',
      "Give the variant `pooling: 'rank'` in the catalog, or use the file of a chat model.",
    );
  if (!embedding) return traits;
  const { dimensions, pooling } = embedding;
  const repair = `Give the variant \`dimensions: ${dimensions}\` and \`pooling: '${pooling}'\` in the catalog, or use the file of a chat model.`;
  throw otherModel(variant, 'is that of an embedding model', repair);
}

const otherModel = (variant: string, what: string, repair: string): ServiceError =>
  serverError('model_load_failed', `The model ${variant} could not be loaded: its file ${what}. ${repair}`);
