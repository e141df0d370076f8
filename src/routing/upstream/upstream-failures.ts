import { serverError, ServiceError, type ErrorCode, type WireError } from '#base';

/** A server's failure. Another variant may answer, unless `passOn` is false. */
export class UpstreamError extends ServiceError {
  constructor(code: ErrorCode | null, message: string, more: Partial<WireError> = {}) {
    super({ status: 500, type: 'server_error', code, param: null, message, passOn: true, ...more });
  }
}

/** Error for an answer that is too long, too late or of another shape. */
export const brokeBound = (what: string): UpstreamError =>
  upstreamError('upstream_failed', `${what}. Try again, or later.`);

/** Error for an answer of another form. @param what "an event" */
export const misshapen = (what: string): UpstreamError =>
  brokeBound(`sent ${what} in another form than the OpenAI API's`);

/** Error for a stream without a finish reason, which would pass for a whole reply. */
export const cutShort = (): UpstreamError =>
  upstreamError('upstream_failed', 'ended its reply too early. Try again.');

/** Error for an answer of another type, such as the page of a wrong address. @param what "a stream of events" */
export function without(what: string, { status, headers }: Response): UpstreamError {
  const message = `answered ${status} without ${what} (content type: ${headers.get('content-type')?.slice(0, 100) ?? 'none'}). Check \`baseUrl\` in the catalog.`;
  return upstreamError('upstream_failed', message);
}

/** Failure of a server that sent nothing in time: the connection was neither answered nor refused. */
export class SilentServer extends UpstreamError {}

export function timedOut(): SilentServer {
  const message = 'The server behind this model did not answer in time. Try again, or later.';
  return new SilentServer('upstream_unavailable', message);
}

export function redirected(): UpstreamError {
  const message =
    'redirects the request to another address. Redirects are not followed. Put the final address into `baseUrl` in the catalog.';
  return upstreamError('upstream_redirected', message);
}

/** Error for a failed connection. Browsers do not report why a cross-origin request failed. */
export function unreachable(): UpstreamError {
  const message = `cannot be reached from this page: it is down, or it does not allow this origin. It must send \`Access-Control-Allow-Origin: ${globalThis.origin ?? '*'}\` (CORS) and allow the headers \`authorization\` and \`content-type\`.`;
  return upstreamError('upstream_unavailable', message);
}

/** Error for a path that the server lacks. It does not count as a failure: other paths still answer. */
export function lacks(path: string, status: number): ServiceError {
  const message = `The server behind this model has no ${path} for it (${status}). Use another model.`;
  return new ServiceError({ ...serverError('model_unavailable', message).wire, passOn: true });
}

export const upstreamError = (code: ErrorCode, message: string, more?: Partial<WireError>): UpstreamError =>
  new UpstreamError(code, `The server behind this model ${message}`, more);
