import { invalidField } from '../errors/service-error.ts';
import type { Sampling } from '../jobs/sampling.ts';

/** Refuses biases of tokens that the model lacks, which would have no effect. @throws ServiceError 400 */
export function refuseUnknownTokens({ logitBias = {} }: Sampling, vocabularySize: number): void {
  const unknown = Object.keys(logitBias).find((token) => Number(token) >= vocabularySize);
  if (unknown === undefined) return;
  throw invalidField(
    `logit_bias.${unknown}`,
    `names no token of this model: ids end at ${vocabularySize - 1}`,
  );
}
