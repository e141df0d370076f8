import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { useGrowWithText } from '../components/grow-with-text.ts';
import { Icon } from '../components/icon.tsx';
import { hueOf } from '../client/models.ts';
import { isTouch } from '../media.ts';
import { settings } from './chat-state.ts';
import { DictationSlot } from './dictation-slot.tsx';
import { say, writing } from './send.ts';

/** Kept while another view is shown. */
const draft = signal('');

export function Composer() {
  const input = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (!isTouch.value) input.current?.focus();
  }, []);
  useGrowWithText(input, draft.value);

  const submit = async (): Promise<void> => {
    const text = draft.value.trim();
    if (!text || writing.value) return;
    draft.value = '';
    if (!(await say(text)) && draft.value === '') draft.value = text;
  };
  /** At the cursor, with a space after the word before it. */
  const insert = (text: string): void => {
    const area = input.current;
    if (!area) return;
    const { selectionStart, selectionEnd, value } = area;
    const isApart = /(?:^|\s)$/.test(value.slice(0, selectionStart));
    area.setRangeText(isApart ? text : ` ${text}`, selectionStart, selectionEnd, 'end');
    draft.value = area.value;
    area.focus();
  };
  const busy = writing.value !== null;
  return (
    <form
      class="composer"
      data-hue={hueOf(settings.value.model)}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <textarea
        ref={input}
        rows={1}
        aria-label="Message"
        placeholder={`Ask ${settings.value.model}`}
        value={draft}
        onInput={({ currentTarget }) => (draft.value = currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing || isTouch.value) return;
          event.preventDefault();
          void submit();
        }}
      />
      <DictationSlot onText={insert} />
      {busy ? (
        <button
          type="button"
          class="composer-button"
          aria-label="Stop"
          title="Stop (Esc)"
          onClick={() => writing.value?.stop()}
        >
          <Icon name="stop" />
        </button>
      ) : (
        <button
          type="submit"
          class="composer-button"
          aria-label="Send"
          title="Send (Enter)"
          disabled={!draft.value.trim()}
        >
          <Icon name="send" />
        </button>
      )}
    </form>
  );
}
