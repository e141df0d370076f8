import { signal } from '@preact/signals';
import { read, write } from './preferences.ts';

export type Theme = 'auto' | 'light' | 'dark';
const STORAGE_KEY = 'localtext-playground:theme';
const ORDER: readonly Theme[] = ['auto', 'light', 'dark'];

const isTheme = (value: string | null): value is Theme => ORDER.some((theme) => theme === value);
const stored = read(STORAGE_KEY);

/** index.html applies the stored theme before the first paint, under the same name. */
export const theme = signal<Theme>(isTheme(stored) ? stored : 'auto');

export function nextTheme(): void {
  const next = ORDER[(ORDER.indexOf(theme.value) + 1) % ORDER.length] ?? 'auto';
  theme.value = next;
  document.documentElement.dataset['theme'] = next;
  write(STORAGE_KEY, next);
}
