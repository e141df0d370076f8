import type { Call } from '../http/call.ts';
import { invalidField, requestError, type ServiceError } from '../../errors/service-error.ts';
import { MAX_IMAGE_BODY_BYTES } from '../body/request-body.ts';
import type { InputItem, ResponseBody } from './response-schema.ts';

/** `msg_<response>_<position>`: an item's id names its response, so that the item is found without an index. */
const ITEM_ID = /^(?:msg|fc|rs)_([\da-f]{8})([\da-f]{4})([\da-f]{4})([\da-f]{4})([\da-f]{12})_i?\d{1,4}$/;

export type NextItemId = (prefix: 'msg' | 'fc' | 'rs') => string;

/** Makes the ids of a response's items. `part`: `i` for the items of its request. */
export function itemIds(responseId: string, part: 'i' | '' = ''): NextItemId {
  const response = responseId.slice('resp_'.length).replaceAll('-', '');
  let count = 0;
  return (prefix) => `${prefix}_${response}_${part}${count++}`;
}

export const isItemId = (id: unknown): boolean => typeof id === 'string' && ITEM_ID.test(id);

/** The input of a request, parsed and as the client gave it, without references. */
interface ResolvedInput {
  items: string | InputItem[];
  given: unknown[];
}

/**
 * Puts the items of stored responses in the place of references to them. Together they may be as large as a body.
 * @throws ServiceError 404, 400
 */
export async function resolveReferences(
  call: Call,
  input: ResponseBody['input'],
  given: unknown,
): Promise<ResolvedInput> {
  if (typeof input === 'string') return { items: input, given: [{ role: 'user', content: given }] };
  const responses = new Map<string, Promise<StoredItems>>();
  const resolved: ResolvedInput = { items: [], given: [] };
  const items: InputItem[] = [];
  const cutCalls = new Set<string>();
  const add = (item: InputItem, own: unknown): void => {
    if (item.type === 'function_call_output' && cutCalls.has(item.call_id)) items.push(LEFT_OUT);
    else {
      items.push(item);
      resolved.given.push(own);
    }
  };
  let characters = 0;
  for (const [index, item] of (input ?? []).entries()) {
    if (item.type !== 'item_reference') {
      add(item, (given as unknown[])[index]);
      continue;
    }
    const id = responseOf(item.id) ?? '';
    const stored = responses.get(id) ?? storedItems(call, id);
    responses.set(id, stored);
    const found = (await stored).get(item.id);
    if (!found) throw unknownItem(`input[${index}].id`, item.id);
    characters += found.characters;
    if (characters > MAX_IMAGE_BODY_BYTES) {
      const rule = `refers to items of more than ${MAX_IMAGE_BODY_BYTES} characters. Refer to fewer`;
      throw invalidField('input', rule);
    }
    if (found.item.type === 'function_call' && isCut(found.given)) {
      cutCalls.add(found.item.call_id);
      items.push(LEFT_OUT);
    } else add(found.item, found.given);
  }
  return { ...resolved, items };
}

function responseOf(id: string): string | null {
  const match = ITEM_ID.exec(id);
  return match && `resp_${match.slice(1).join('-')}`;
}

type StoredItems = ReadonlyMap<string, { item: InputItem; given: unknown; characters: number }>;

/** Items of a response and of its request, by id. Empty: the key has no such response. */
async function storedItems({ dependencies, admitted }: Call, response: string): Promise<StoredItems> {
  const stored = response === '' ? null : await dependencies.responses.get(response);
  if (stored?.keyId !== admitted.keyId) return new Map();
  const { inputItem } = await import('./response-schema.ts');
  // Written by `createResponse` alone.
  const output = stored.response['output'] as unknown[];
  return new Map(
    [...output, ...stored.input].flatMap((given) => {
      const parsed = inputItem.safeParse(given);
      if (!parsed.success) return [];
      const { id } = given as { id: string };
      return [[id, { item: parsed.data, given, characters: JSON.stringify(given).length }]];
    }),
  );
}

/** Keeps the place of an item that is left out, as errors name items by their index. Reasoning is ignored. */
const LEFT_OUT: InputItem = { type: 'reasoning' };

/** Whether a call is one that its reply ended in: it has no arguments that could be parsed. */
const isCut = (call: unknown): boolean => (call as { status?: string }).status === 'incomplete';

function unknownItem(at: string, id: string): ServiceError {
  const message = `There is no item ${JSON.stringify(id.slice(0, 80))} here. Its response may be too old, deleted, made without \`store\`, or another key’s. Send the item itself, as the AI SDK does with \`store\` false.`;
  return requestError(404, message, null, at);
}
