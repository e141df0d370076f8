export { type Compiled, grammarWorker } from './grammar-worker.ts';
