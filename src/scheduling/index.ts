export { SlotQueue, type Claim, type Yielding } from './slot-queue.ts';
export { OneByOne, Turns, type TakesTurns } from './turns.ts';
