import { serverError, type ServiceError } from './service-error.ts';

/** Error of an engine that ended without its last event. */
export const engineLost = (): ServiceError =>
  serverError('engine_lost', 'The engine ended before the reply was complete. Send the request again.');
