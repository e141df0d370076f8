import { useLayoutEffect, useRef } from 'preact/hooks';
import { IconButton } from '../components/icon-button.tsx';
import { conversation, showTurn } from './chat-state.ts';
import { siblings, type Turn } from './conversation.ts';
import { writing } from './send.ts';

/** Version that a button of another one has shown: the focus moves to its own button. */
let stepped: { id: string; step: number } | null = null;

/** Steps through the versions of a turn. */
export function BranchSwitch({ turn }: { turn: Turn }) {
  const group = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    if (stepped?.id !== turn.id) return;
    group.current?.querySelector<HTMLElement>(stepped.step < 0 ? ':first-child' : ':last-child')?.focus();
    stepped = null;
  }, []);
  const versions = siblings(conversation.value, turn);
  if (versions.length < 2) return null;
  const index = versions.findIndex(({ id }) => id === turn.id);
  const show = (step: number): void => {
    const next = versions[index + step];
    if (!next) return;
    stepped = { id: next.id, step };
    showTurn(next);
  };
  const busy = writing.value !== null && !writing.value.turnIds.includes(turn.id);
  return (
    <span
      ref={group}
      class="branch-switch"
      role="group"
      aria-label={`Versions, ${index + 1} of ${versions.length}`}
    >
      <IconButton
        small
        icon="left"
        label="Earlier version"
        disabled={busy || index === 0}
        onClick={() => show(-1)}
      />
      <span class="figures">
        {index + 1}/{versions.length}
      </span>
      <IconButton
        small
        icon="right"
        label="Later version"
        disabled={busy || index === versions.length - 1}
        onClick={() => show(1)}
      />
    </span>
  );
}
