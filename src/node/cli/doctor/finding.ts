/** `fault`: localtext will not work, or not wholly. `warning`: it works less well than it could. */
export type Level = 'ok' | 'warning' | 'fault';

export interface Finding {
  level: Level;
  /** What was found, in a sentence. */
  text: string;
  /** What to do about it; none for what is well. */
  fix?: string;
}

export const ok = (text: string): Finding => ({ level: 'ok', text });
export const warning = (text: string, fix: string): Finding => ({ level: 'warning', text, fix });
export const fault = (text: string, fix: string): Finding => ({ level: 'fault', text, fix });
