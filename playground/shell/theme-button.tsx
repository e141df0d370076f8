import { IconButton } from '../components/icon-button.tsx';
import { signal } from '@preact/signals';
import { read, write } from '../preferences.ts';

type Theme = 'auto' | 'light' | 'dark';
const STORAGE_KEY = 'localtext-playground:theme';
const ORDER: readonly Theme[] = ['auto', 'light', 'dark'];

const isTheme = (value: string | null): value is Theme => ORDER.some((theme) => theme === value);
const stored = read(STORAGE_KEY);

/** index.html applies the stored theme before the first paint, under the same name. */
const theme = signal<Theme>(isTheme(stored) ? stored : 'auto');

function nextTheme(): void {
  const next = ORDER[(ORDER.indexOf(theme.value) + 1) % ORDER.length] ?? 'auto';
  theme.value = next;
  document.documentElement.dataset['theme'] = next;
  write(STORAGE_KEY, next);
}

const LABELS = { auto: 'as the system', light: 'light', dark: 'dark' } as const;

export function ThemeButton() {
  const label = `Theme: ${LABELS[theme.value]}`;
  return <IconButton icon={theme.value} label={label} onClick={nextTheme} />;
}
