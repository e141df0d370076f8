import { charactersOf, textsOf, type ChatJob, type Sampling } from '#jobs';
import { ContextLengthError, invalidField, type ServiceError } from '#base';

/**
 * Maximum number of prompt characters per token of the context. Text has about 4; the longest tokens are runs of one
 * character. Tokenizing megabytes would block the thread for seconds.
 */
export const MAX_CHARACTERS = 32;

/** Rejects an oversized input before it is rendered and tokenized. @throws ServiceError `context_length_exceeded` */
export function refuseOversized(
  { input, resume }: Pick<ChatJob, 'input' | 'resume'>,
  contextLength: number,
): void {
  const { length } = textsOf(input);
  // Each message has at least one token, for its role.
  if (length > contextLength) throw exceeded(contextLength, `${length} messages`, contextLength / length);
  refuseCharacters(charactersOf(input), MAX_CHARACTERS, contextLength);
  // A client may send the beginning of the reply.
  if (resume) refuseOversizedText(resume.text, contextLength);
}

/** Rejects an oversized rendered prompt before it is tokenized. @throws ServiceError `context_length_exceeded` */
export const refuseOversizedText = ({ length }: string, contextLength: number): void =>
  refuseCharacters(length, 2 * MAX_CHARACTERS, contextLength);

function refuseCharacters(characters: number, maxPerToken: number, contextLength: number): void {
  const maxCharacters = contextLength * maxPerToken;
  if (characters <= maxCharacters) return;
  const size = `${characters} characters, more than ${maxPerToken} for each`;
  throw exceeded(contextLength, size, maxCharacters / characters);
}

function exceeded(contextLength: number, size: string, share: number): ServiceError {
  const message = `This model's maximum context length is ${contextLength} tokens, and the prompt has ${size}. Shorten the messages.`;
  return new ContextLengthError(message, share);
}

/** Rejects biases for tokens that the model lacks, which would have no effect. @throws ServiceError 400 */
export function refuseUnknownTokens({ logitBias = {} }: Sampling, vocabularySize: number): void {
  const unknown = Object.keys(logitBias).find((token) => Number(token) >= vocabularySize);
  if (unknown === undefined) return;
  const rule = `names no token of this model: ids end at ${vocabularySize - 1}`;
  throw invalidField(`logit_bias.${unknown}`, rule);
}
