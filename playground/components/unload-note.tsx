import { modelStatuses } from '../client/localtext.ts';
import { chosenVariant, statusOf } from '../client/model-facts.ts';

/** Says that a model was unloaded because another one needed its memory. */
export function UnloadNote({ model }: { model: string }) {
  const weights = statusOf(model)?.unloadedFor;
  if (weights === undefined) return null;
  const other = modelStatuses.value.find(({ id }) => chosenVariant(id)?.name === weights)?.id ?? weights;
  return (
    <p class="small quiet" role="status">
      {model} was unloaded, because {other} needed its memory. The next message loads it again.
    </p>
  );
}
