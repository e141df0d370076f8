import type { EngineFacts, ModelFacts } from '../../protocol/model-facts.ts';
import { shared } from '../../util/async.ts';

/** Returns a function that stores an engine's facts if they have changed: most status changes do not affect them. */
export function factsWriter(
  epoch: string,
  read: () => Promise<Record<string, ModelFacts>>,
  write: (facts: EngineFacts) => Promise<void>,
): () => void {
  let written = '';
  const writeChanged = shared(async () => {
    try {
      const models = await read();
      const text = JSON.stringify(models);
      if (text === written) return;
      await write({ epoch, models });
      written = text;
    } catch (error) {
      // Facts are optional: with a full storage the models answer all the same.
      console.warn('localtext: the facts for GET /v1/models cannot be stored', error);
    }
  });
  return () => void writeChanged();
}
