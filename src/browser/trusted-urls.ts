/** Subset of Trusted Types, which not all browsers have. */
interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(url: string): string },
  ): { createScriptURL(url: string): string };
}

let policy: ReturnType<TrustedTypes['createPolicy']> | null | undefined;

/**
 * Converts a script's URL for `require-trusted-types-for 'script'`, by the policy `localtext`, which passes
 * only URLs of this origin. The URL stays as it is if the browser has no Trusted Types, or the site does not
 * allow that policy.
 */
export function trustedScriptUrl(url: string | URL): string {
  if (policy === undefined) policy = createPolicy();
  return policy ? policy.createScriptURL(String(url)) : String(url);
}

function createPolicy(): typeof policy {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  try {
    return trustedTypes?.createPolicy('localtext', { createScriptURL: ownOrigin }) ?? null;
  } catch {
    return null;
  }
}

function ownOrigin(url: string): string {
  if (new URL(url, location.href).origin === globalThis.origin) return url;
  throw new TypeError(`localtext starts only scripts of ${globalThis.origin}, not ${url}.`);
}

type WorkerClass = new (url: string | URL, options?: WorkerOptions) => EventTarget;

/** Subclass that takes URLs of this origin under Trusted Types. */
export function trusting<C extends WorkerClass>(Base: C, onUrl?: (url: string) => void): C {
  const Trusting = class extends (Base as WorkerClass) {
    constructor(url: string | URL, options?: WorkerOptions) {
      onUrl?.(String(url));
      super(typeof url === 'string' || url instanceof URL ? trustedScriptUrl(url) : url, options);
    }
  };
  return Trusting as C;
}

export const hasTrustedTypes = (): boolean => 'trustedTypes' in globalThis;

/**
 * Calls `create` with the `Worker` of `trusting()`: bundlers find workers only by `new Worker(new URL(…))`,
 * so that the URL cannot be made a trusted one there.
 * @param onUrl called with the URL of each worker
 */
export function withTrustedWorkers<T>(create: () => T, onUrl?: (url: string) => void): T {
  const plain = Worker;
  globalThis.Worker = trusting(plain, onUrl);
  try {
    return create();
  } finally {
    globalThis.Worker = plain;
  }
}
