import { modelStatuses } from '../client/localtext.ts';

/** Says that a model was unloaded because another one needed its memory. */
export function UnloadNote({ model }: { model: string }) {
  const other = modelStatuses.value.find(({ id }) => id === model)?.unloadedFor;
  if (other === undefined) return null;
  return (
    <p class="small quiet" role="status">
      {model} was unloaded, because {other} needed its memory. The next message loads it again.
    </p>
  );
}
