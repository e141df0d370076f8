import { useEffect, useRef } from 'preact/hooks';
import { useGrowWithText } from '../components/grow-with-text.ts';
import { Form } from '../components/form.tsx';
import { onSendKey } from '../components/keys.ts';
import { SendButton } from '../components/send-button.tsx';
import { hueOf } from '../client/models.ts';
import { isTouch } from '../media.ts';
import { Thumbnails } from '../pictures/thumbnails.tsx';
import { settings } from './chat-state.ts';
import { draftPictures, pictureProblem, takePictures } from './draft-pictures.ts';
import { PictureButton } from './picture-button.tsx';
import { say, writing } from './send.ts';
import { DictationSlot, TalkSlot } from './voice-slots.tsx';
import { effect, signal } from '@preact/signals';

const KEY = 'localtext-playground:draft';

/** The message being written. It is kept while another view is shown, and when the page is reloaded. */
const draft = signal(read());

effect(() => {
  try {
    if (draft.value === '') sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, draft.value);
  } catch {
    // Refused or full: it is kept until the page is left.
  }
});

function read(): string {
  try {
    return sessionStorage.getItem(KEY) ?? '';
  } catch {
    return '';
  }
}

export function Composer() {
  const input = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (!isTouch.value) input.current?.focus();
  }, []);
  useGrowWithText(input, draft.value);
  const pictures = draftPictures.value;
  const problem = pictures.length > 0 ? pictureProblem.value : null;
  const ready = problem === null && (draft.value.trim() !== '' || pictures.length > 0);

  const submit = async (): Promise<void> => {
    const text = draft.value.trim();
    if (!ready || writing.value) return;
    draft.value = '';
    draftPictures.value = [];
    if ((await say(text, pictures)) || draft.value !== '') return;
    draft.value = text;
    draftPictures.value = pictures;
  };
  /** Inserts text at the cursor, with a space after the word before it. */
  const insert = (text: string): void => {
    const area = input.current;
    if (!area) return;
    const { selectionStart, selectionEnd, value } = area;
    const isApart = /(?:^|\s)$/.test(value.slice(0, selectionStart));
    area.setRangeText(isApart ? text : ` ${text}`, selectionStart, selectionEnd, 'end');
    draft.value = area.value;
    area.focus();
  };
  return (
    <Form class="composer" data-hue={hueOf(settings.value.model)} onSubmit={submit}>
      {pictures.length > 0 && (
        <div class="composer-pictures">
          <Thumbnails
            pictures={pictures}
            onRemove={(removed) => {
              draftPictures.value = draftPictures.value.filter((picture) => picture !== removed);
              input.current?.focus();
            }}
          />
          {problem !== null && (
            <p role="alert" class="error-text small">
              {problem}
            </p>
          )}
        </div>
      )}
      <PictureButton />
      <textarea
        ref={input}
        rows={1}
        aria-label="Message"
        dir="auto"
        placeholder={`Ask ${settings.value.model}`}
        value={draft}
        onInput={({ currentTarget }) => (draft.value = currentTarget.value)}
        onPaste={(event) => {
          if (takePictures(event.clipboardData?.files)) event.preventDefault();
        }}
        onKeyDown={onSendKey(submit)}
      />
      <DictationSlot onText={insert} />
      <TalkSlot />
      <SendButton
        label="Send"
        stopLabel="Stop"
        disabled={!ready}
        busy={writing.value !== null}
        onStop={() => writing.value?.stop()}
      />
    </Form>
  );
}
