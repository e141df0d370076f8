export { Executor } from './executor.ts';
export { JobQueue, type Claim } from './job-queue.ts';
export { createLease, JobPaused, type LeaseOptions } from './lease.ts';
export { PartQueue, PartTurns, inParts } from './part-queue.ts';
export { POLICY, type Parts } from './policy.ts';
export {
  filling,
  isRunning,
  isToBeShared,
  mayCount,
  nextReply,
  sharedLength,
  type PromptView,
} from './prompt-policy.ts';
