import { Icon } from '../components/icon.tsx';
import { nextTheme, theme } from '../theme.ts';

const LABELS = { auto: 'as the system', light: 'light', dark: 'dark' } as const;

export function ThemeButton() {
  const label = `Theme: ${LABELS[theme.value]}`;
  return (
    <button type="button" class="icon-button" aria-label={label} title={label} onClick={nextTheme}>
      <Icon name={theme.value} />
    </button>
  );
}
