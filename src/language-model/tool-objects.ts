import { isImageSource } from './image-url.ts';
import { interfaceOf, toDictionary, toEnum, toObject, toSequence, type Dictionary } from './web-idl.ts';
import { notSupported } from './exceptions.ts';

/** Chrome names the id of a call `callID`, the explainer `callId`. */
class OfCall {
  readonly callID: string;
  readonly callId: string;
  readonly name: string;

  constructor(init: unknown) {
    const { callID, callId = callID, name } = toInit(init, 'name');
    if (callId === undefined) throw new TypeError('The member callId is required.');
    this.callID = this.callId = String(callId);
    this.name = String(name);
  }
}

/** A call of a tool: one that the page runs, or an earlier one in a prompt. */
export class LanguageModelToolCall extends OfCall {
  readonly arguments: object | null;

  constructor(init: unknown) {
    super(init);
    const { arguments: given } = toInit(init);
    this.arguments = given === undefined ? null : toObject(given, 'arguments');
  }
}

/** What a tool has returned. */
export class LanguageModelToolSuccess extends OfCall {
  readonly result: readonly { type: string; value: unknown }[];

  constructor(init: unknown) {
    super(init);
    const { result } = toInit(init, 'result');
    this.result = Object.freeze(toSequence(result, 'result').map(toResult));
  }
}

/** Why a tool has failed. */
export class LanguageModelToolError extends OfCall {
  readonly errorMessage: string;

  constructor(init: unknown) {
    super(init);
    this.errorMessage = String(toInit(init, 'errorMessage')['errorMessage']);
  }
}

export const TOOL_OBJECTS = { LanguageModelToolCall, LanguageModelToolSuccess, LanguageModelToolError };

export type ToolResponse = LanguageModelToolSuccess | LanguageModelToolError;

export const isToolResponse = (value: unknown): value is ToolResponse =>
  value instanceof LanguageModelToolSuccess || value instanceof LanguageModelToolError;

/** Text that the model gets. @throws DOMException for an image, for sound, and for what is no JSON */
export const toolResponseText = (response: ToolResponse): string =>
  response instanceof LanguageModelToolError
    ? `Error: ${response.errorMessage}`
    : response.result.map(resultText).join('\n');

function resultText({ type, value }: LanguageModelToolSuccess['result'][number]): string {
  if (type !== 'text' && type !== 'object') throw notSupported(`A tool cannot return ${type} here.`);
  if (typeof value === 'string') return value;
  try {
    // Undefined for a function.
    const json = isImageSource(value) ? undefined : toJson(value);
    if (json !== undefined) return json;
  } catch {
    // A cycle.
  }
  throw new DOMException('The result of a tool must be JSON.', 'DataError');
}

/** Writes a value as JSON, and BigInts as the integers that they are. Undefined for a function. */
export function toJson(value: unknown): string | undefined {
  const mark = crypto.randomUUID();
  const json = JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'bigint' ? `${mark}${each}` : each,
  ) as string | undefined;
  return json?.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, 'g'), '$1');
}

const RESULT_TYPES = ['text', 'image', 'audio', 'object'] as const;

function toResult(item: unknown): { type: string; value: unknown } {
  const { type, value } = toInit(item, 'type', 'value');
  return { type: toEnum(type, RESULT_TYPES, 'type'), value };
}

/** @throws TypeError if a member is missing */
function toInit(value: unknown, ...required: string[]): Dictionary {
  const members = toDictionary(value, interfaceOf(value));
  const missing = required.find((name) => members[name] === undefined);
  if (missing !== undefined) throw new TypeError(`The member ${missing} is required.`);
  return members;
}
