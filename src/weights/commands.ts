import type { CommandOf, WeightsCommand, WeightsReplies, OnProgress } from '#protocol';
import { invalidField } from '#base';
import type { ModelAdder } from './added/model-adder.ts';
import { exportDescription, importFile, type ImportExportDependencies } from './model-import-export.ts';
import type { ModelStorage } from './model-storage.ts';
import type { VariantFiles } from './sources/variant-files.ts';

export interface CommandDependencies extends ImportExportDependencies {
  modelStorage: ModelStorage;
  variantFiles: VariantFiles;
  adder: Pick<ModelAdder, 'add' | 'delete' | 'has' | 'inspect' | 'offers' | 'rename'>;
}

type CommandType = WeightsCommand['type'];
type Handler<T extends CommandType> = (
  weights: CommandDependencies,
  command: CommandOf<T>,
  signal: AbortSignal,
  onProgress: OnProgress,
) => Promise<WeightsReplies[T]>;

const control = async (
  { store, modelStorage, variantOf }: CommandDependencies,
  { type, target }: CommandOf<'pause' | 'resume' | 'cancel'>,
): Promise<void> => (await store())[type](await modelStorage.files(await variantOf(target)));

const HANDLERS: { [T in CommandType]: Handler<T> } = {
  list: ({ modelStorage }) => modelStorage.overview(),
  describe: (weights, { target }) => exportDescription(weights, target),
  offers: ({ adder }, { source }, signal) => adder.offers(source, signal),
  inspect: ({ adder }, { source }, signal) => adder.inspect(source, signal),
  import: (weights, { name, blob }, signal) => importFile(weights, name, blob, signal),
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
export const QUESTIONS: ReadonlySet<CommandType> = new Set(['list', 'describe', 'offers', 'inspect']);

/** Runs a page's command. @throws ServiceError */
export async function runCommand<T extends CommandType>(
  dependencies: CommandDependencies,
  command: CommandOf<T>,
  signal: AbortSignal,
  onProgress: OnProgress = () => undefined,
): Promise<WeightsReplies[T]> {
  const { commandRule, commandSchema } = await import('#protocol/weights-command');
  const { error } = commandSchema.safeParse(command, { error: commandRule });
  if (error) throw invalidField(error.issues[0]?.path.join('.') ?? '', error.issues[0]?.message ?? '');
  return HANDLERS[command.type](dependencies, command, signal, onProgress);
}
