import type { CommandOf, WeightsCommand } from '../../protocol/weights-command.ts';
import type { WeightsReplies } from '../../protocol/weights-messages.ts';
import type { OnProgress } from '../../protocol/worker-control.ts';
import { requestError } from '../../errors/service-error.ts';
import type { ModelStorage } from '../../model-files/model-storage.ts';
import { exportDescription, importFile } from '../../model-files/model-import-export.ts';
import type { WeightSources } from '../../model-files/sources/weight-sources.ts';
import type { ModelAdder } from '../models/model-adder.ts';
import type { WeightStore } from '../../model-files/weight-store.ts';

export interface WeightsService {
  store: Promise<WeightStore>;
  modelStorage: ModelStorage;
  sources: WeightSources;
  adder: Pick<ModelAdder, 'add' | 'delete' | 'has' | 'inspect' | 'offers' | 'rename'>;
  /** The status has changed. */
  onChange(): void;
}

type CommandType = WeightsCommand['type'];
type Handler<T extends CommandType> = (
  service: WeightsService,
  command: CommandOf<T>,
  signal: AbortSignal,
  onProgress: OnProgress,
) => Promise<WeightsReplies[T]>;

const DONE = { type: 'done' } as const;

const control = async (
  { store, modelStorage }: WeightsService,
  { type, target }: CommandOf<'pause' | 'resume' | 'cancel'>,
): Promise<typeof DONE> => {
  await (await store)[type](await modelStorage.files(await modelStorage.name(target)));
  return DONE;
};

const HANDLERS: { [T in CommandType]: Handler<T> } = {
  list: async ({ modelStorage }) => ({ type: 'list', store: await modelStorage.overview() }),
  describe: async (service, { target }) => ({
    type: 'described',
    description: await exportDescription(service, target),
  }),
  offers: async ({ adder }, { source }, signal) => ({
    type: 'offers',
    offers: await adder.offers(source, signal),
  }),
  inspect: async ({ adder }, { source }, signal) => ({
    type: 'inspected',
    details: await adder.inspect(source, signal),
  }),
  import: async (service, { name, blob }, signal) => ({
    type: 'imported',
    imported: await importFile(service, name, blob, signal),
  }),
  add: async ({ adder }, command, signal, onProgress) => ({
    type: 'added',
    model: await adder.add(command, signal, onProgress),
  }),
  async rename({ adder }, { target, id }) {
    await adder.rename(target, id);
    return DONE;
  },
  async remove({ adder }, { target }) {
    await adder.delete(target);
    return DONE;
  },
  async delete({ adder, modelStorage }, { target }) {
    // No other source has an added model's files, so the model is removed with them.
    await (adder.has(target) ? adder : modelStorage).delete(target);
    return DONE;
  },
  pause: control,
  resume: control,
  cancel: control,
};

/** Commands that change nothing. */
const QUESTIONS = new Set<CommandType>(['list', 'describe', 'offers', 'inspect']);

/** Does what a page asks of the weight store. @throws ServiceError */
export async function serveWeights<T extends CommandType>(
  service: WeightsService,
  command: CommandOf<T>,
  signal: AbortSignal,
  onProgress: OnProgress = () => undefined,
): Promise<WeightsReplies[T]> {
  const { commandSchema } = await import('../../protocol/weights-command.ts');
  if (!commandSchema.safeParse(command).success)
    throw requestError(400, 'Unknown command of the weight store, or invalid fields.');
  const reply = await HANDLERS[command.type](service, command, signal, onProgress);
  if (!QUESTIONS.has(command.type)) service.onChange();
  return reply;
}
