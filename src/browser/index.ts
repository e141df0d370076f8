export { BLOCKED_WORKER, blockedMessage, onBlockedWorker } from './policy-violations.ts';
export { putWhole } from './put-whole.ts';
export { hasTrustedTypes, trustedScriptUrl, trusting, withTrustedWorkers } from './trusted-urls.ts';
export { takeTurn, yieldToEventLoop } from './yield-to-event-loop.ts';
