import type { WeightsCommand } from '../../protocol/weights-command.ts';
import type { WeightsReply } from '../../protocol/weights-messages.ts';
import type { LoadProgress } from '../../protocol/worker-control.ts';
import { requestError } from '../../errors/service-error.ts';
import type { ModelStorage } from '../../model-files/model-storage.ts';
import { exportDescription, importFile } from '../../model-files/model-import-export.ts';
import type { WeightSources } from '../../model-files/sources/weight-sources.ts';
import { findHubModel } from '../models/model-source.ts';
import type { ModelAdder } from '../models/model-adder.ts';
import type { WeightStore } from '../../model-files/weight-store.ts';

export interface WeightsService {
  store: Promise<WeightStore>;
  modelStorage: ModelStorage;
  sources: WeightSources;
  adder: Pick<ModelAdder, 'add' | 'delete' | 'has' | 'rename'>;
  /** The status has changed. */
  onChange(): void;
}

/** Does what a page asks of the weight store. @throws ServiceError */
export async function serveWeights(
  service: WeightsService,
  command: WeightsCommand,
  signal: AbortSignal,
  onProgress: (progress: LoadProgress) => void = () => undefined,
): Promise<WeightsReply> {
  const { store, modelStorage, sources, adder, onChange } = service;
  switch (command.type) {
    case 'list':
      return { type: 'list', store: await modelStorage.overview() };
    case 'describe':
      return { type: 'described', description: await exportDescription(service, command.target) };
    case 'hub': {
      const { source, all } = command;
      const models = all
        ? await sources.hubModels(source, signal)
        : [await findHubModel(source, sources, signal)];
      return { type: 'hub', models };
    }
    case 'import': {
      const imported = await importFile(service, command.name, command.blob, signal);
      onChange();
      return { type: 'imported', imported };
    }
    case 'add': {
      const model = await adder.add(command, signal, onProgress);
      onChange();
      return { type: 'added', model };
    }
    case 'rename':
      await adder.rename(command.target, command.id);
      break;
    case 'remove':
      await adder.delete(command.target);
      break;
    case 'delete':
      // No other source has an added model's files, so the model is removed with them.
      await (adder.has(command.target) ? adder : modelStorage).delete(command.target);
      break;
    case 'pause':
    case 'resume':
    case 'cancel':
      await (await store)[command.type](await modelStorage.files(await modelStorage.name(command.target)));
      break;
    default:
      throw requestError(400, 'Unknown command for stored weights.', 'unsupported_value', 'type');
  }
  onChange();
  return { type: 'done' };
}
