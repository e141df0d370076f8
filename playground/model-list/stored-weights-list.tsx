import { useEffect, useRef } from 'preact/hooks';
import type { StoredVariant } from '../../src/index.ts';
import { downloads } from '../client/downloads.ts';
import {
  deleteWeights,
  refreshStoredWeights,
  storedWeights,
  storedWeightsError,
} from '../client/stored-weights.ts';
import { ConfirmButton } from '../components/confirm-button.tsx';
import { focusIfLost } from '../components/focus-if-lost.ts';
import { bytes } from '../format.ts';
import { ErrorText } from '../components/error-text.tsx';

/** Lists the weights stored in this browser, each with a Delete button. */
export function StoredWeightsList() {
  const phases = Object.values(downloads.value)
    .map(({ phase }) => phase)
    .join();
  useEffect(() => void refreshStoredWeights(), [phases]);
  const stored = storedWeights.value;
  const list = useRef<HTMLDivElement>(null);
  const remove = async (variant: string): Promise<void> => {
    await deleteWeights(variant);
    focusIfLost(list.current);
  };
  return (
    <div class="stack" role="group" aria-label="Weights in this browser" tabIndex={-1} ref={list}>
      <ErrorText alert text={storedWeightsError.value} />
      {stored?.length === 0 && <p class="small quiet">No weights are stored yet.</p>}
      {stored && stored.length > 0 && (
        <ul class="stored-weights" aria-label="Stored weights">
          {stored.map((variant) => (
            <StoredWeights key={variant.variant} {...variant} onDelete={() => void remove(variant.variant)} />
          ))}
        </ul>
      )}
    </div>
  );
}

function consequence(variant: string, state: StoredVariant['state']): string {
  if (state === 'outdated') return 'The models of this site do not use them any more.';
  return variant.startsWith('added/')
    ? 'The model is removed, too. To use it again, add it again.'
    : 'The next use of the model downloads them again.';
}

interface Props extends StoredVariant {
  onDelete: () => void;
}

function StoredWeights({ variant, models, bytes: whole, storedBytes, state, inUse, onDelete }: Props) {
  return (
    <li class="row row-between">
      <span>
        <code>{variant}</code>{' '}
        <span class="quiet small">
          {state === 'part' ? `${bytes(storedBytes)} of ${bytes(whole)}` : bytes(storedBytes)}
          {state === 'outdated'
            ? ', of an earlier catalog'
            : models.length > 0
              ? ` for ${models.join(', ')}`
              : ' of a model whose adding was stopped; kept for a week'}
          {inUse && ', in use'}
        </span>
      </span>
      <ConfirmButton look="quiet" action="Delete" name={variant} onConfirm={onDelete}>
        {bytes(storedBytes)} are deleted from this browser. {consequence(variant, state)}
      </ConfirmButton>
    </li>
  );
}
