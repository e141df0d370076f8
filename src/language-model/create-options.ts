import { SAMPLING_MODES, type SamplingMode } from '#jobs';
import {
  CONTENT_TYPES,
  toMessages,
  toRawMessages,
  type ContentType,
  type Message,
} from './prompt-messages.ts';
import { toTools, type Tool } from './tools.ts';
import { toDictionary, toEnum, toSequence, toSignal, type Dictionary } from './web-idl.ts';

/** Options of `availability()`, validated. */
export interface CoreOptions {
  expectedInputs: ContentType[];
  expectedOutputs: ContentType[];
  /** Canonical tags of both. */
  languages: string[];
  samplingMode: SamplingMode;
  /** Temperature of the former API, unless a mode is named. */
  temperature?: number;
  tools: Tool[];
}

export interface CreateOptions extends CoreOptions {
  initialPrompts: Message[];
  signal: AbortSignal | undefined;
  monitor: ((monitor: EventTarget) => unknown) | undefined;
}

const MODES = Object.keys(SAMPLING_MODES) as SamplingMode[];

/** @throws TypeError, RangeError for an invalid language tag */
export function toCoreOptions(value: unknown): CoreOptions {
  const options = toDictionary(value, 'options');
  const inputs = toExpected(options['expectedInputs'], 'expectedInputs');
  const outputs = toExpected(options['expectedOutputs'], 'expectedOutputs');
  const expectedOutputs = outputs.map(({ type }) => type);
  const tools = toTools(options['tools']);
  if (tools.length > 0 && !expectedOutputs.includes('tool-call'))
    throw new TypeError('Tools need { type: "tool-call" } in `expectedOutputs`.');
  return {
    expectedInputs: inputs.map(({ type }) => type),
    expectedOutputs,
    languages: [...inputs, ...outputs].flatMap((each) => each.languages),
    ...toSampling(options),
    tools,
  };
}

/** @throws TypeError, RangeError for an invalid language tag, DOMException for an invalid prompt */
export function toCreateOptions(value: unknown): CreateOptions {
  const core = toCoreOptions(value);
  const { initialPrompts, monitor, signal } = toDictionary(value, 'options');
  if (monitor !== undefined && typeof monitor !== 'function')
    throw new TypeError('monitor must be a function.');
  const raw = initialPrompts === undefined ? [] : toSequence(initialPrompts, 'initialPrompts');
  return {
    ...core,
    initialPrompts: raw.length === 0 ? [] : toMessages(toRawMessages(raw), inputTypes(core), false),
    monitor: monitor as CreateOptions['monitor'],
    signal: toSignal(signal),
  };
}

/** Content types that the prompts of a session may have. */
export const inputTypes = ({ expectedInputs }: CoreOptions): ReadonlySet<ContentType> =>
  new Set([...expectedInputs, 'text']);

function toExpected(value: unknown, name: string): { type: ContentType; languages: string[] }[] {
  if (value === undefined) return [];
  return toSequence(value, name).map((each) => {
    const { languages, type } = toDictionary(each, name);
    const tags = languages === undefined ? [] : toSequence(languages, 'languages').map(String);
    // A RangeError for an invalid tag.
    return {
      languages: Intl.getCanonicalLocales(tags),
      type: toEnum(type, CONTENT_TYPES, `type of ${name}`),
    };
  });
}

/**
 * Pages of browsers ignore the former `temperature` and `topK`, and sessions do not show them. Here they take effect
 * where no mode is named: `/v1` has a temperature, and `topK: 1` is greedy decoding.
 */
function toSampling({
  samplingMode,
  temperature,
  topK,
}: Dictionary): Pick<CoreOptions, 'samplingMode' | 'temperature'> {
  if (samplingMode !== undefined) return { samplingMode: toEnum(samplingMode, MODES, 'samplingMode') };
  const former = Number(topK) === 1 ? 0 : Number(temperature);
  return { samplingMode: 'balanced', ...(former >= 0 && { temperature: Math.min(former, 2) }) };
}
