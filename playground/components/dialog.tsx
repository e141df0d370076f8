import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { message } from '../announce.ts';
import { Announcer } from './announcer.tsx';
import { IconButton } from './icon-button.tsx';

interface Props {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  /** Places the dialog along the edge of the window instead of in its middle. */
  side?: boolean;
  /** Stays open when the backdrop is pressed, because its content is shown only once. */
  stays?: boolean;
}

/** Modal while it is mounted. The browser keeps the focus inside, closes it on Esc, and gives the focus back. */
export function Dialog({ title, onClose, children, side = false, stays = false }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  /** Whether the pointer was pressed on the backdrop: a selection of text may end there. */
  const pressed = useRef(false);
  const id = useId();
  // The cleanup of a layout effect precedes the removal: a dialog that is removed first gives no focus back.
  useLayoutEffect(() => {
    const element = dialog.current;
    // Its own announcer would repeat the last announcement.
    message.value = '';
    element?.showModal();
    return () => element?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      class={`dialog ${side ? 'dialog-side' : ''}`}
      aria-labelledby={id}
      onClose={onClose}
      onPointerDown={(event) => {
        // The backdrop belongs to the dialog element itself.
        pressed.current = event.target === dialog.current;
      }}
      onClick={(event) => {
        if (!stays && pressed.current && event.target === dialog.current) onClose();
      }}
    >
      <div class="dialog-body">
        <div class="dialog-head">
          <h2 id={id}>{title}</h2>
          <IconButton icon="close" label="Close" onClick={onClose} />
        </div>
        {children}
        {/* What is outside a modal dialog is not read. */}
        <Announcer />
      </div>
    </dialog>
  );
}
