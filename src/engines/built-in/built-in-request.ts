import { omitNulls, ServiceError } from '#base';
import type { PageModelMessage, PageModelPart, PageModelRequest } from '#protocol';
import {
  imagesOf,
  engineFields,
  samplingModeOf,
  textsAndImages,
  type ChatImage,
  type ChatJob,
  type ChatMessage,
  type Constraint,
} from '#jobs';
import { withToolCalls } from '#chat-template';

/** Error for what the browser's model cannot do. The next variant may be able to (`passOn`). */
export const cannot = (param: string, rule: string): ServiceError =>
  new ServiceError({
    status: 400,
    type: 'invalid_request_error',
    code: 'unsupported_value',
    param,
    message: `\`${param}\` ${rule}. Leave it out, or use another model.`,
    passOn: true,
  });

/** What this browser's sessions support. */
export interface SessionAbilities {
  languages: readonly string[];
  /** Whether a sampling mode can be set. */
  samples: boolean;
  images: boolean;
}

/** @throws ServiceError 400 for what the API cannot do */
export function refuseImages({ input }: ChatJob, { images }: SessionAbilities): void {
  const [image] = imagesOf(input);
  if (image && !images) throw cannot(image.param, "is an image, which this browser's model does not take");
}

/**
 * Translates a job into a Prompt API request.
 * @throws ServiceError 400 for a parameter that the API does not support
 */
export function toBuiltInRequest(
  job: ChatJob,
  { samples, languages }: SessionAbilities,
  images: ReadonlyMap<ChatImage, ImageBitmap>,
): PageModelRequest {
  const { input, constraint, maxTokens, countOnly, resume } = job;
  if (!('messages' in input)) throw cannot('prompt', "is not possible: the browser's model only chats");
  if (job.topLogprobs !== undefined)
    throw cannot('logprobs', "is not possible: the browser's model gives no log probabilities");
  return {
    languages,
    images: images.size > 0,
    ...toPrompts(input.messages, resume?.text ?? '', images),
    ...samplingOf(job, samples),
    ...(constraint && { responseConstraint: toSchema(constraint) }),
    ...omitNulls({ maxTokens, countOnly }),
  };
}

/** A mode stands for the temperature and `top_p`. */
function samplingOf({ sampling, seeded }: ChatJob, samples: boolean): Pick<PageModelRequest, 'samplingMode'> {
  const covered = (): object => ({});
  engineFields(sampling, "the browser's own model", {
    ...(samples && { temperature: covered, topP: covered }),
    ...(seeded && { seed: covered }),
  });
  const samplingMode = samplingModeOf(sampling);
  return samples && samplingMode !== 'balanced' ? { samplingMode } : {};
}

function toSchema(constraint: Constraint): Record<string, unknown> {
  if (constraint.kind === 'grammar')
    throw cannot('response_format', "cannot be a grammar: the browser's model takes a JSON Schema");
  if (constraint.kind === 'json_object') return { type: 'object' };
  const { schema: text, parts = [] } = constraint;
  const schema = JSON.parse(text) as Record<string, unknown>;
  const strict = parts.find((part) => part.strict);
  if (strict && JSON.stringify(schema) !== text)
    throw cannot(strict.param, "loses digits of numbers or the order of names in the browser's model");
  return schema;
}

/** Joins the system messages at the front, followed by the history. The last turn is the prompt. */
function toPrompts(
  messages: readonly ChatMessage[],
  begun: string,
  images: ReadonlyMap<ChatImage, ImageBitmap>,
): Pick<PageModelRequest, 'initialPrompts' | 'prompt'> {
  const system = messages.filter(({ role }) => role === 'system').map(({ content }) => content);
  const turns = messages.filter(({ role }) => role !== 'system').map((message) => toTurn(message, images));
  const last = turns.pop() ?? { role: 'user', content: '' };
  const prompt: PageModelMessage[] = [];
  if (last.role === 'assistant')
    prompt.push({ role: 'assistant', content: last.content + begun, prefix: true });
  else {
    prompt.push(last);
    if (begun !== '') prompt.push({ role: 'assistant', content: begun, prefix: true });
  }
  const first: PageModelMessage[] =
    system.length > 0 ? [{ role: 'system', content: system.join('\n\n') }] : [];
  return { initialPrompts: [...first, ...turns], prompt };
}

function toTurn(message: ChatMessage, images: ReadonlyMap<ChatImage, ImageBitmap>): PageModelMessage {
  if (message.role === 'assistant')
    return { role: 'assistant', content: withToolCalls(message.content, message.toolCalls ?? []) };
  // The API has no role for a function's result.
  const content = message.role === 'tool' ? `Result of the call:\n${message.content}` : message.content;
  const pictures = ('images' in message && message.images) || [];
  if (pictures.length === 0) return { role: 'user', content };
  const parts = textsAndImages(content, pictures).flatMap((part): PageModelPart[] => {
    if (typeof part === 'string') return [{ type: 'text', value: part }];
    const value = images.get(part);
    return value ? [{ type: 'image', value }] : [];
  });
  return { role: 'user', content: parts };
}
