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
  if (!reranks && !embedding) return traits;
  const what = reranks ? 'a reranker' : 'an embedding model';
  const fields = embedding
    ? `\`dimensions: ${embedding.dimensions}\` and \`pooling: '${embedding.pooling}'\``
    : "`pooling: 'rank'`";
  const repair = `Give the variant ${fields} in the catalog, or use the file of a chat model.`;
  throw otherModel(variant, `is that of ${what}`, repair);
}

const otherModel = (variant: string, what: string, repair: string): ServiceError =>
  serverError('model_load_failed', `The model ${variant} could not be loaded: its file ${what}. ${repair}`);
