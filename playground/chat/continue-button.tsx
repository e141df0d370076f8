import { useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { wasCut, type AssistantTurn } from './conversation.ts';
import { continueReply, writing } from './send.ts';

/** Continues a reply that was cut at its maximum length, that the user stopped, or that failed. */
export function ContinueButton({ turn, live }: { turn: AssistantTurn; live: boolean }) {
  const pressed = useSignal(false);
  if (!(live ? pressed.value : wasCut(turn))) return null;
  return (
    <Button
      disabled={writing.value !== null}
      onClick={async () => {
        pressed.value = true;
        await continueReply(turn);
        pressed.value = false;
      }}
    />
  );
}

/** Keeps the focus while the reply is written, and gives it to the message field when it goes. */
function Button({ disabled, onClick }: { disabled: boolean; onClick: () => Promise<void> }) {
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    const { current } = button;
    return () => {
      if (current && current === document.activeElement)
        document.querySelector<HTMLElement>('.composer textarea')?.focus();
    };
  }, []);
  return (
    <button
      ref={button}
      type="button"
      class="button button-quiet button-small"
      aria-disabled={disabled}
      onClick={() => {
        if (!disabled) void onClick();
      }}
    >
      Continue
    </button>
  );
}
