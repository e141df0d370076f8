import { serverError, type ServiceError } from '#base';
import { FormatError, ggufFacts, openGguf, OtherModelError, type GgufFacts } from '#gguf';

/**
 * Reads the header of a chat model's file; null if it is malformed, for which llama.cpp reports the reason.
 * @throws ServiceError `model_load_failed` for a model of another kind, which llama.cpp would load anyway
 */
export async function chatFacts(variant: string, file: Blob): Promise<GgufFacts | null> {
  const facts = await openGguf(file)
    .then(({ header, cursor }) => ggufFacts(header, cursor))
    .catch((error: unknown) => {
      if (error instanceof OtherModelError)
        throw otherModel(variant, error.message, 'Use the file of a chat model.');
      if (error instanceof FormatError) return null;
      throw error;
    });
  const { embedding, reranks } = facts ?? {};
  if (reranks)
    throw otherModel(
      variant,
      'is that of a reranker',
      "Give the variant `pooling: 'rank'` in the catalog, or use the file of a chat model.",
    );
  if (!embedding) return facts;
  const { dimensions, pooling } = embedding;
  const repair = `Give the variant \`dimensions: ${dimensions}\` and \`pooling: '${pooling}'\` in the catalog, or use the file of a chat model.`;
  throw otherModel(variant, 'is that of an embedding model', repair);
}

const otherModel = (variant: string, what: string, repair: string): ServiceError =>
  serverError('model_load_failed', `The model ${variant} could not be loaded: its file ${what}. ${repair}`);
