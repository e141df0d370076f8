import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';

interface Props {
  /** Label of the button, and of the one that confirms. */
  action: string;
  /** Name of what the action destroys. */
  name: string;
  look: 'danger' | 'quiet';
  small?: boolean;
  onConfirm: () => void;
  /** Consequences, for the user. */
  children: ComponentChildren;
}

/** Button of an irreversible action, which asks for confirmation first. */
export function ConfirmButton({ action, name, onConfirm, children, ...others }: Props) {
  const asks = useSignal(false);
  const close = (): void => {
    asks.value = false;
  };
  const confirm = (): void => {
    close();
    onConfirm();
  };
  return (
    <>
      <Button {...others} onClick={() => (asks.value = true)}>
        {action}
        <span class="visually-hidden"> {name}</span>
      </Button>
      {asks.value && (
        <Dialog title={`${action} ${name}?`} onClose={close}>
          <p>{children}</p>
          <div class="row">
            <Button look="danger" onClick={confirm}>
              {action}
            </Button>
            <Button onClick={close}>Keep it</Button>
          </div>
        </Dialog>
      )}
    </>
  );
}
