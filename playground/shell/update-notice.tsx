import { useSignal } from '@preact/signals';
import { engineStatus, handle } from '../client/localtext.ts';
import { messageOf } from '../format.ts';

/** What a reload is needed for: a new version, or what cross-origin isolation breaks. */
export function UpdateNotice() {
  const problem = useSignal<string | null>(null);
  const updating = useSignal(false);
  const { updateWaiting, buildReplaced, isolationBreaks, crossOriginIsolated } = engineStatus.value ?? {};
  const breaks = crossOriginIsolated && isolationBreaks;
  if (!updateWaiting && !buildReplaced && !breaks) return null;
  const update = async (): Promise<void> => {
    problem.value = null;
    updating.value = true;
    try {
      await (await handle).update();
      location.reload();
    } catch (error) {
      problem.value = messageOf(error);
      updating.value = false;
    }
  };
  const text = updateWaiting
    ? 'A new version of this page is ready.'
    : buildReplaced
      ? 'This page has a new version, and parts of the earlier one are gone.'
      : `Cross-origin isolation keeps ${breaks && breaks.url} from this page.`;
  return (
    <div class="notice row row-between" role="status">
      <span>{problem.value ?? (updating.value ? 'Waiting until no request runs…' : text)}</span>
      <button
        type="button"
        class="button button-small"
        disabled={updating.value}
        onClick={() => void update()}
      >
        {updateWaiting ? 'Use it' : 'Reload'}
      </button>
    </div>
  );
}
