/** Subset of `SecurityPolicyViolationEvent`, which the worker library of TypeScript does not declare. */
interface Violation extends Event {
  effectiveDirective: string;
  disposition: 'enforce' | 'report';
}

/** Type of the message by which a worker reports to its creator that a policy refuses its own workers. */
export const BLOCKED_WORKER = 'localtext.blocked';

/**
 * Calls `report` with the directive when this page's or worker's Content-Security-Policy refuses a worker.
 * Browsers report it only in this event: the worker's own `error` event has no reason.
 */
export function onBlockedWorker(report: (directive: string) => void, signal: AbortSignal): void {
  const listener = (event: Event): void => {
    const { effectiveDirective, disposition } = event as Violation;
    if (disposition === 'enforce' && /^(worker|child)-src/.test(effectiveDirective))
      report(effectiveDirective);
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
