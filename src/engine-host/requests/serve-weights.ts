import type { CommandOf, WeightsCommand, WeightsReplies, OnProgress } from '#protocol';
import { requestError } from '#base';
import {
  exportDescription,
  importFile,
  type ModelStorage,
  type ImportExportDependencies,
  type WeightSources,
} from '#weights';
import type { ModelAdder } from '#models';

export interface WeightsService extends ImportExportDependencies {
  modelStorage: ModelStorage;
  sources: WeightSources;
  adder: Pick<ModelAdder, 'add' | 'delete' | 'has' | 'inspect' | 'offers' | 'rename'>;
  /** Called when the status has changed. */
  onChange(): void;
}

type CommandType = WeightsCommand['type'];
type Handler<T extends CommandType> = (
  service: WeightsService,
  command: CommandOf<T>,
  signal: AbortSignal,
  onProgress: OnProgress,
) => Promise<WeightsReplies[T]>;

const control = async (
  { store, modelStorage, variantOf }: WeightsService,
  { type, target }: CommandOf<'pause' | 'resume' | 'cancel'>,
): Promise<void> => (await store())[type](await modelStorage.files(await variantOf(target)));

const HANDLERS: { [T in CommandType]: Handler<T> } = {
  list: ({ modelStorage }) => modelStorage.overview(),
  describe: (service, { target }) => exportDescription(service, target),
  offers: ({ adder }, { source }, signal) => adder.offers(source, signal),
  inspect: ({ adder }, { source }, signal) => adder.inspect(source, signal),
  import: (service, { name, blob }, signal) => importFile(service, name, blob, signal),
  add: ({ adder }, command, signal, onProgress) => adder.add(command, signal, onProgress),
  rename: ({ adder }, { target, id }) => adder.rename(target, id),
  remove: ({ adder }, { target }) => adder.delete(target),
  // An added model's files have no other source, so the model is removed with them.
  delete: async ({ adder, modelStorage, variantOf }, { target }) =>
    adder.has(target) ? adder.delete(target) : modelStorage.delete(await variantOf(target)),
  pause: control,
  resume: control,
  cancel: control,
};

/** Commands that change nothing. */
const QUESTIONS = new Set<CommandType>(['list', 'describe', 'offers', 'inspect']);

/** Runs a page's command on the weight store. @throws ServiceError */
export async function serveWeights<T extends CommandType>(
  service: WeightsService,
  command: CommandOf<T>,
  signal: AbortSignal,
  onProgress: OnProgress = () => undefined,
): Promise<WeightsReplies[T]> {
  const { commandSchema } = await import('#protocol/weights-command');
  if (!commandSchema.safeParse(command).success)
    throw requestError(400, 'Unknown command of the weight store, or invalid fields.');
  const reply = await HANDLERS[command.type](service, command, signal, onProgress);
  if (!QUESTIONS.has(command.type)) service.onChange();
  return reply;
}
