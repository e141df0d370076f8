import * as z from 'zod/mini';

/** A record of at most so many members. They are counted first: zod goes through all members and keeps every fault. */
export function recordOf<Key extends z.core.$ZodRecordKey, Value extends z.ZodMiniType>(
  key: Key,
  value: Value,
  maximum: number,
  error?: string,
): z.ZodMiniRecord<Key, Value> {
  const record = z.record(key, value, error);
  const { _zod: internals } = record;
  const { parse } = internals;
  const bounded: typeof parse = (payload, context) => {
    const input: unknown = payload.value;
    if (typeof input !== 'object' || input === null || Object.keys(input).length <= maximum) {
      return parse(payload, context);
    }
    payload.issues.push({ code: 'too_big', origin: 'object', maximum, inclusive: true, input, inst: record });
    return payload;
  };
  internals.parse = bounded;
  internals.run = bounded;
  return record;
}
