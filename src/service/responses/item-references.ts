import type { Exchange } from '../http/exchange.ts';
import { invalidField, requestError } from '#base';
import { MAX_IMAGE_BODY_BYTES } from '../body/request-body.ts';
import { findResponse } from './find-response.ts';
import type { InputItem, ResponseBody } from './response-schema.ts';

/**
 * `msg_<response>_<position>`: an item's id names its response, so that the item is found without an index.
 */
const ITEM_ID = /^(?:msg|fc|ctc|rs)_([\da-f]{8})([\da-f]{4})([\da-f]{4})([\da-f]{4})([\da-f]{12})_i?\d{1,4}$/;

export type ItemPrefix = 'msg' | 'fc' | 'ctc' | 'rs';
export type NextItemId = (prefix: ItemPrefix) => string;

/** Makes the ids of a response's items. `part`: `i` for the items of its request. */
export function itemIds(responseId: string, part: 'i' | '' = ''): NextItemId {
  const response = responseId.slice('resp_'.length).replaceAll('-', '');
  let count = 0;
  return (prefix) => `${prefix}_${response}_${part}${count++}`;
}

export const isItemId = (id: unknown): boolean => typeof id === 'string' && ITEM_ID.test(id);

/** Input of a request without references: parsed, and as the client sent it. */
interface ResolvedInput {
  items: string | InputItem[];
  raw: unknown[];
}

/**
 * Replaces references by the items of stored responses. Together they may be as large as a body.
 * @throws ServiceError 404, 400
 */
export async function resolveReferences(
  exchange: Exchange,
  input: ResponseBody['input'],
  raw: unknown,
): Promise<ResolvedInput> {
  if (typeof input === 'string') return { items: input, raw: [{ role: 'user', content: raw }] };
  const responses = new Map<string, Promise<StoredItems>>();
  const resolved: ResolvedInput = { items: [], raw: [] };
  const items: InputItem[] = [];
  const cutCalls = new Set<string>();
  let characters = 0;
  for (const [index, entry] of (input ?? []).entries()) {
    let found: Pick<Item, 'item' | 'raw'>;
    if (entry.type === 'item_reference') {
      const id = responseOf(entry.id);
      const stored = responses.get(id) ?? storedItems(exchange, id);
      responses.set(id, stored);
      const item = (await stored).get(entry.id);
      if (!item) {
        const message = `There is no item ${JSON.stringify(entry.id.slice(0, 80))} here. Its response may be too old, deleted, made without \`store\`, or another key’s. Send the item itself.`;
        throw requestError(404, message, null, `input[${index}].id`);
      }
      found = item;
      characters += item.characters;
      if (characters > MAX_IMAGE_BODY_BYTES)
        throw invalidField('input', `may refer to items of ${MAX_IMAGE_BODY_BYTES} characters at most`);
      // The reply was cut off in this call: its arguments cannot be parsed.
      const { item: call } = item;
      const isCall = call.type === 'function_call' || call.type === 'custom_tool_call';
      if (isCall && (item.raw as { status?: string }).status === 'incomplete') cutCalls.add(call.call_id);
    } else found = { item: entry, raw: (raw as unknown[])[index] };
    // Reasoning is ignored and keeps the place: errors name items by their index.
    if ('call_id' in found.item && cutCalls.has(found.item.call_id ?? '')) items.push({ type: 'reasoning' });
    else {
      items.push(found.item);
      resolved.raw.push(found.raw);
    }
  }
  return { ...resolved, items };
}

/** Id of an item's response. It matches no response if the item's id has another form. */
const responseOf = (id: string): string => `resp_${ITEM_ID.exec(id)?.slice(1).join('-')}`;

interface Item {
  item: InputItem;
  raw: unknown;
  characters: number;
}
type StoredItems = ReadonlyMap<string, Item>;

/** Items of a response and of its request, by id. Empty: the key has no such response. */
async function storedItems(exchange: Exchange, response: string): Promise<StoredItems> {
  const stored = await findResponse(exchange, response);
  if (!stored) return new Map();
  const { inputItem } = await import('./response-schema.ts');
  // Only `createResponse` writes it.
  const { output } = JSON.parse(stored.response) as { output: unknown[] };
  return new Map(
    [...output, ...stored.input].flatMap((raw) => {
      const parsed = inputItem.safeParse(raw);
      if (!parsed.success) return [];
      const { id } = raw as { id: string };
      return [[id, { item: parsed.data, raw, characters: JSON.stringify(raw).length }]];
    }),
  );
}
