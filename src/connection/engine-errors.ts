import { serverError, type ServiceError } from '../api/service-error.ts';

export const engineUnavailable = (seconds: number): ServiceError =>
  serverError(
    'engine_unavailable',
    `No tab of this site offered an engine within ${seconds} s. Open a tab of this site that calls start(), keep it open, and try again.`,
  );

export const engineFailed = (times: number): ServiceError =>
  serverError(
    'engine_failed',
    `The engine stopped ${times} times on this request before it had answered. The device may be out of memory: close other tabs, or choose a smaller model.`,
  );

export const engineLost = (reason: string): ServiceError =>
  serverError('engine_lost', `The engine stopped in the middle of this reply, and ${reason}. Send it again.`);

export const protocolMismatch = (): ServiceError =>
  serverError(
    'protocol_mismatch',
    'The tabs of this site and its service worker run different versions. Reload every tab of this site, and try again.',
  );
