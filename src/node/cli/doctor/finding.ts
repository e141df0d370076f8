import { printable } from '#base';

const MAX_CHARACTERS = 1000;

/** `fault`: localtext will not work, or not wholly. `warning`: it works less well than it could. */
export type Level = 'ok' | 'warning' | 'fault';

export interface Finding {
  level: Level;
  /** One sentence. */
  text: string;
  /** Remedy; absent if nothing is wrong. */
  fix?: string;
}

/** Makes the texts printable: they have a server's headers and URLs. */
const finding = (level: Level, text: string, fix?: string): Finding => ({
  level,
  text: printable(text, MAX_CHARACTERS),
  ...(fix !== undefined && { fix: printable(fix, MAX_CHARACTERS) }),
});

export const ok = (text: string): Finding => finding('ok', text);
export const warning = (text: string, fix: string): Finding => finding('warning', text, fix);
export const fault = (text: string, fix: string): Finding => finding('fault', text, fix);
