import { useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Form } from '../components/form.tsx';
import { IconButton } from '../components/icon-button.tsx';
import { isComposing, onSendKey } from '../components/keys.ts';
import { count } from '../format.ts';
import { useKeptFocus } from '../components/use-kept-focus.ts';
import { Thumbnails } from '../pictures/thumbnails.tsx';
import { BranchSwitch } from './branch-switch.tsx';
import { picturesOf, type UserTurn } from './conversation.ts';
import { say, writing } from './send.ts';
import { Button } from '../components/button.tsx';

export function UserItem({ turn }: { turn: UserTurn }) {
  const editing = useSignal(false);
  const item = useKeptFocus<HTMLLIElement>();
  return (
    <li class="turn turn-user" tabIndex={-1} ref={item}>
      {editing.value ? (
        <UserEditor turn={turn} onDone={() => (editing.value = false)} />
      ) : (
        <Said turn={turn} onEdit={() => (editing.value = true)} />
      )}
    </li>
  );
}

function Said({ turn, onEdit }: { turn: UserTurn; onEdit: () => void }) {
  const pictures = picturesOf(turn);
  return (
    <>
      <span class="visually-hidden">You said:</span>
      <div class="said">
        {pictures.length > 0 && <Thumbnails pictures={pictures} />}
        {turn.content !== '' && <Bubble text={turn.content} />}
      </div>
      <div class="turn-actions">
        <BranchSwitch turn={turn} />
        <IconButton
          small
          icon="edit"
          label="Edit and send as another version"
          disabled={writing.value !== null}
          onClick={onEdit}
        />
      </div>
    </>
  );
}

/** Longer messages are shown by their beginning. */
const SHOWN_CHARACTERS = 800;
const SHOWN_LINES = 12;

function Bubble({ text }: { text: string }) {
  const whole = useSignal(false);
  const start = text.slice(0, SHOWN_CHARACTERS).split('\n', SHOWN_LINES).join('\n');
  const isLong = start.length < text.length;
  return (
    <>
      <div class="bubble" dir="auto">
        {isLong && !whole.value ? `${start}…` : text}
      </div>
      {isLong && (
        <Button look="quiet" small aria-expanded={whole.value} onClick={() => (whole.value = !whole.value)}>
          {whole.value ? 'Show less' : `Show all ${count(text.length)} characters`}
        </Button>
      )}
    </>
  );
}

function UserEditor({ turn, onDone }: { turn: UserTurn; onDone: () => void }) {
  const text = useSignal(turn.content);
  const pictures = useSignal(picturesOf(turn));
  const input = useRef<HTMLTextAreaElement>(null);
  // At once: after the next frame, it would take the focus from a field that was pressed since.
  useLayoutEffect(() => input.current?.focus(), []);
  const isBusy = writing.value !== null;
  const submit = (): void => {
    if (isBusy || (!text.value.trim() && pictures.value.length === 0)) return;
    // A sent text replaces this turn and its editor. A refused text stays in the editor.
    void say(text.value.trim(), pictures.value, turn.parent);
  };
  return (
    <Form class="turn-editor" onSubmit={submit}>
      {pictures.value.length > 0 && (
        <Thumbnails
          pictures={pictures.value}
          onRemove={(removed) => {
            pictures.value = pictures.value.filter((picture) => picture !== removed);
            input.current?.focus();
          }}
        />
      )}
      <textarea
        ref={input}
        class="input"
        rows={3}
        aria-label="Edit your message"
        dir="auto"
        value={text}
        onInput={({ currentTarget }) => (text.value = currentTarget.value)}
        onKeyDown={(event) => {
          if (isComposing(event)) return;
          if (event.key === 'Escape') {
            // Escape would also stop a reply.
            event.stopPropagation();
            onDone();
          }
          onSendKey(submit)(event);
        }}
      />
      <div class="row">
        <Button type="submit" look="primary" small disabled={isBusy}>
          Send this version
        </Button>
        <Button small onClick={onDone}>
          Cancel
        </Button>
      </div>
    </Form>
  );
}
