import type { WeightsCommand, WeightsReply } from '../protocol/weights.ts';
import type { Library } from './weights/library.ts';
import type { Transfer } from './weights/transfer.ts';
import type { WeightStore } from './weights/weight-store.ts';

export interface WeightsService {
  store: Promise<WeightStore>;
  library: Library;
  transfer: Transfer;
  /** Something has changed that the status tells of. */
  onChange(): void;
}

/** Does what a page asks of the weight store. @throws EngineError */
export async function serveWeights(
  { store, library, transfer, onChange }: WeightsService,
  command: WeightsCommand,
  signal: AbortSignal,
): Promise<WeightsReply> {
  switch (command.type) {
    case 'list':
      return { type: 'list', store: await library.overview() };
    case 'describe':
      return { type: 'described', description: await transfer.describe(command.target) };
    case 'import': {
      const imported = await transfer.take(command.name, command.blob, signal);
      onChange();
      return { type: 'imported', imported };
    }
    case 'delete':
      await library.delete(command.target);
      break;
    default: {
      const files = await library.files(await library.name(command.target));
      await (await store)[command.type](files);
    }
  }
  onChange();
  return { type: 'done' };
}
