import { charactersOf, type ChatJob, textsOf } from '../../jobs/chat.ts';
import { ContextLengthError } from '../../errors/engine-errors.ts';
import { invalidField, type ServiceError } from '../../errors/service-error.ts';
import type { Sampling } from '../../jobs/sampling.ts';

/**
 * Characters of a prompt for each token of the context. Text has about 4; the longest tokens are runs of one character.
 * Tokenizing megabytes takes seconds, in which nothing else runs.
 */
export const MAX_CHARACTERS = 32;

/** Refuses an input before it is rendered and tokenized. @throws ServiceError `context_length_exceeded` */
export function refuseOversized(input: ChatJob['input'], contextLength: number): void {
  if ('tokens' in input) {
    const { length } = input.tokens;
    if (length > contextLength) throw exceeded(contextLength, `${length}`, contextLength / length);
    return;
  }
  const { length } = textsOf(input);
  // A message has at least one token, for its role.
  if (length > contextLength) throw exceeded(contextLength, `${length} messages`, contextLength / length);
  refuseCharacters(charactersOf(input), MAX_CHARACTERS, contextLength);
}

/** A rendered prompt, with what its template adds, before it is tokenized. @throws ServiceError `context_length_exceeded` */
export const refuseOversizedText = ({ length }: string, contextLength: number): void =>
  refuseCharacters(length, 2 * MAX_CHARACTERS, contextLength);

function refuseCharacters(characters: number, mostEach: number, contextLength: number): void {
  const most = contextLength * mostEach;
  if (characters <= most) return;
  throw exceeded(
    contextLength,
    `${characters} characters, more than ${mostEach} for each`,
    most / characters,
  );
}

const exceeded = (contextLength: number, size: string, share: number): ServiceError =>
  new ContextLengthError(
    `This model's maximum context length is ${contextLength} tokens, and the prompt has ${size}. Shorten the messages.`,
    share,
  );

/** Refuses biases of tokens that the model lacks, which would have no effect. @throws ServiceError 400 */
export function refuseUnknownTokens({ logitBias = {} }: Sampling, vocabularySize: number): void {
  const unknown = Object.keys(logitBias).find((token) => Number(token) >= vocabularySize);
  if (unknown === undefined) return;
  throw invalidField(
    `logit_bias.${unknown}`,
    `names no token of this model: ids end at ${vocabularySize - 1}`,
  );
}
