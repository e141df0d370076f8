/** Subset of `SecurityPolicyViolationEvent`, which the worker library of TypeScript does not declare. */
interface Violation extends Event {
  /** URL without its fragment, only its origin or scheme, or empty. */
  blockedURI: string;
  effectiveDirective: string;
  disposition: 'enforce' | 'report';
}

/** Type of the message by which a worker reports to its creator that a policy refuses its own workers. */
export const BLOCKED_WORKER = 'localtext.blocked';

/**
 * Calls `report` with the directive when this page's or worker's Content-Security-Policy refuses the worker of a script.
 * Browsers report it only in this event: the worker's own `error` event has no reason.
 */
export function onBlockedWorker(
  script: string,
  report: (directive: string) => void,
  signal: AbortSignal,
): void {
  const url = new URL(script, location.href).href;
  const listener = (event: Event): void => {
    const { effectiveDirective, disposition, blockedURI } = event as Violation;
    const isWorker = disposition === 'enforce' && /^(worker|child)-src/.test(effectiveDirective);
    // Other code of the site may start workers, too.
    if (isWorker && url.startsWith(blockedURI)) report(effectiveDirective);
  };
  globalThis.addEventListener('securitypolicyviolation', listener, { signal });
}

/** Message for people about a worker that the policy refuses. */
export function blockedMessage(script: string, directive: string): string {
  const name = new URL(script, location.href).pathname.split('/').at(-1);
  const fix = directive.includes('trusted-types')
    ? "Allow the policy 'localtext' in trusted-types"
    : "Allow 'self' in worker-src";
  return `The site's Content-Security-Policy (${directive}) blocks the worker ${name}. ${fix}, and reload the page.`;
}
