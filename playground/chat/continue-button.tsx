import { useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Button, type ButtonProps } from '../components/button.tsx';
import { wasCut, type AssistantTurn } from './conversation.ts';
import { focusComposer } from './focus-composer.ts';
import { continueReply, writing } from './send.ts';

/** Continues a reply that was cut at its maximum length, that the user stopped, or that failed. */
export function ContinueButton({ turn, live }: { turn: AssistantTurn; live: boolean }) {
  const pressed = useSignal(false);
  if (!(live ? pressed.value : wasCut(turn))) return null;
  return (
    <Continue
      disabled={writing.value !== null}
      onClick={() => {
        pressed.value = true;
        void continueReply(turn).then(() => (pressed.value = false));
      }}
    />
  );
}

/** Keeps the focus while the reply is written, and gives it to the message field when it goes. */
function Continue(props: Pick<ButtonProps, 'disabled' | 'onClick'>) {
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    const { current } = button;
    return () => {
      if (current && current === document.activeElement) focusComposer();
    };
  }, []);
  return (
    <Button ref={button} look="quiet" small {...props}>
      Continue
    </Button>
  );
}
