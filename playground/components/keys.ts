import { isTouch } from '../media.ts';

/** Whether a key belongs to an input method. WebKit marks the Enter that confirms its text by the key code alone. */
export const isComposing = (event: KeyboardEvent): boolean => event.isComposing || event.keyCode === 229;

/** Whether a key in a text field sends the text: Enter, with Ctrl or Cmd where Enter breaks the line. */
const isSendKey = (event: KeyboardEvent): boolean =>
  event.key === 'Enter' &&
  !event.shiftKey &&
  !isComposing(event) &&
  (event.ctrlKey || event.metaKey || !isTouch.value);

/** Handler for a text field that sends its text. */
export const onSendKey =
  (send: () => void | Promise<void>) =>
  (event: KeyboardEvent): void => {
    if (!isSendKey(event)) return;
    event.preventDefault();
    void send();
  };
