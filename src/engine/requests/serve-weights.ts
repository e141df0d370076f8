import type { WeightsCommand, WeightsReply } from '../../protocol/weights-messages.ts';
import { badRequest } from '../../protocol/engine-error.ts';
import type { Library } from '../../weights/model-storage.ts';
import type { Transfer } from '../../weights/model-import-export.ts';
import type { WeightStore } from '../../weights/weight-store.ts';

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
    case 'pause':
      (await store).pause(await library.files(await library.name(command.target)));
      break;
    case 'resume':
      (await store).resume(await library.files(await library.name(command.target)));
      break;
    case 'cancel':
      await (await store).cancel(await library.files(await library.name(command.target)));
      break;
    default:
      throw badRequest('Unknown command for stored weights.', 'type', 'unsupported_value');
  }
  onChange();
  return { type: 'done' };
}
