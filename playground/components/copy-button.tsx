import { useEffect, useState } from 'preact/hooks';
import { announce } from '../announce.ts';
import { Icon } from './icon.tsx';

export function CopyButton({ text, label, caption }: { text: string; label: string; caption?: string }) {
  const [outcome, setOutcome] = useState<'copied' | 'refused' | null>(null);
  useEffect(() => {
    if (outcome !== 'copied') return;
    const timer = setTimeout(() => setOutcome(null), 1500);
    return () => clearTimeout(timer);
  }, [outcome]);

  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setOutcome('copied');
      announce('Copied');
    } catch {
      setOutcome('refused');
    }
  };
  return (
    <>
      <button
        type="button"
        class={caption === undefined ? 'icon-button icon-button-small' : 'button button-small'}
        aria-label={caption === undefined ? label : undefined}
        title={label}
        onClick={() => void copy()}
      >
        <Icon name={outcome === 'copied' ? 'check' : 'copy'} />
        {caption}
      </button>
      {outcome === 'refused' && (
        <span role="alert" class="error-text small">
          The browser did not allow copying. Select the text and copy it.
        </span>
      )}
    </>
  );
}
