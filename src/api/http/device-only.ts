import type { Admitted, EngineClient } from '../service-dependencies.ts';
import { requestError } from '../service-error.ts';

/** Limits one request to the device. Its value is `device`. */
const HEADER = 'localtext-route';

/**
 * The engine as one request may use it: limited to the device where the request or its key demands it.
 * @throws ServiceError 400
 */
export function engineFor(headers: Headers, { deviceOnly }: Admitted, engine: EngineClient): EngineClient {
  const route = headers.get(HEADER);
  if (route !== null && route !== 'device') {
    const rule = `The header \`${HEADER}\` must be \`device\`, or absent.`;
    throw requestError(400, rule, 'invalid_value', HEADER);
  }
  if (!deviceOnly && route === null) return engine;
  return {
    chat: (job, options) => engine.chat({ ...job, deviceOnly: true }, options),
    embed: (job, options) => engine.embed({ ...job, deviceOnly: true }, options),
  };
}
