import { notSupported } from './exceptions.ts';
import { isImageSource, PromptImage } from './image-url.ts';
import {
  isToolResponse,
  LanguageModelToolCall,
  toolResponseText,
  type ToolResponse,
} from './tool-objects.ts';
import { interfaceOf, isSequence, toDictionary, toEnum, toText } from './web-idl.ts';

const ROLES = ['system', 'user', 'assistant'] as const;
export const CONTENT_TYPES = ['text', 'image', 'audio', 'tool-call', 'tool-response'] as const;
export type ContentType = (typeof CONTENT_TYPES)[number];

export type Content =
  | { type: 'text'; value: string }
  | { type: 'image'; value: PromptImage }
  | { type: 'tool-call'; value: LanguageModelToolCall }
  | { type: 'tool-response'; value: ToolResponse; text: string };

export interface Message {
  role: (typeof ROLES)[number];
  content: Content[];
  /** Whether the reply begins with it. */
  prefix: boolean;
}

export interface RawMessage {
  role: Message['role'];
  content: { type: ContentType; value: unknown }[];
  prefix: boolean;
}

/** Converts a `LanguageModelPrompt`. @throws TypeError */
export function toRawMessages(input: unknown): RawMessage[] {
  if (!isSequence(input)) return [{ role: 'user', content: textContent(toText(input)), prefix: false }];
  return [...input].map(toRawMessage);
}

const textContent = (value: string): RawMessage['content'] => [{ type: 'text', value }];

function toRawMessage(value: unknown): RawMessage {
  const { content, prefix, role } = toDictionary(value, 'A message');
  if (content === undefined) throw new TypeError('A message needs content.');
  return {
    content: isSequence(content) ? [...content].map(toRawContent) : textContent(toText(content)),
    prefix: Boolean(prefix),
    role: toEnum(role, ROLES, 'role'),
  };
}

function toRawContent(part: unknown): RawMessage['content'][number] {
  const { type, value } = toDictionary(part, 'Content');
  const contentType = toEnum(type, CONTENT_TYPES, 'type');
  if (value === undefined) throw new TypeError('Content needs a value.');
  if (isImageSource(value)) return { type: contentType, value: new PromptImage(value) };
  const isPlatformObject =
    interfaceOf(value) === 'AudioBuffer' || value instanceof LanguageModelToolCall || isToolResponse(value);
  return { type: contentType, value: isPlatformObject ? value : toText(value) };
}

/**
 * Validates a prompt, and brings it into one form: the standard's "validate and canonicalize a prompt".
 * @param types content types that the session was created for
 * @param hasInput whether the session has messages already: none of the role `system` may follow
 * @throws TypeError, DOMException
 */
export function toMessages(
  raw: readonly RawMessage[],
  types: ReadonlySet<ContentType>,
  hasInput: boolean,
): Message[] {
  if (raw.length === 0) return [{ role: 'user', content: [{ type: 'text', value: '' }], prefix: false }];
  return raw.map(({ role, content, prefix }, index) => {
    if (prefix && (role !== 'assistant' || index < raw.length - 1))
      throw new DOMException('Only the last message, of the assistant, can be a prefix.', 'SyntaxError');
    if (role === 'system' && (hasInput || index > 0))
      throw new TypeError('A system prompt must be the first message of the session.');
    const parts = content.map((part) => toContent(part, role, types));
    return { role, prefix, content: joinTexts(parts) };
  });
}

/** Roles whose messages may have such content. */
const ROLES_OF: Record<ContentType, readonly Message['role'][]> = {
  text: ROLES,
  image: ['system', 'user'],
  audio: ['system', 'user'],
  'tool-call': ['assistant'],
  'tool-response': ['user'],
};

function toContent(
  { type, value }: RawMessage['content'][number],
  role: Message['role'],
  types: ReadonlySet<ContentType>,
): Content {
  if (!ROLES_OF[type].includes(role))
    throw notSupported(`A message of the role ${role} cannot have ${type}.`);
  if (type === 'text') {
    if (typeof value !== 'string') throw new TypeError('The value of text must be a string.');
    return { type, value };
  }
  if (!types.has(type))
    throw notSupported(`The session was not created for ${type}: name it in \`expectedInputs\`.`);
  if (type === 'image' && value instanceof PromptImage) return { type, value };
  if (type === 'tool-call' && value instanceof LanguageModelToolCall) return { type, value };
  if (type === 'tool-response' && isToolResponse(value))
    return { type, value, text: toolResponseText(value) };
  throw new TypeError(`The value is not of the type ${type}.`);
}

function joinTexts(parts: readonly Content[]): Content[] {
  const joined: Content[] = parts.length === 0 ? [{ type: 'text', value: '' }] : [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (part.type === 'text' && last?.type === 'text')
      joined[joined.length - 1] = { type: 'text', value: last.value + part.value };
    else joined.push(part);
  }
  return joined;
}
