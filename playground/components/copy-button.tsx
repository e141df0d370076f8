import { useEffect, useState } from 'preact/hooks';
import { announce } from '../announce.ts';
import { Icon } from './icon.tsx';

export function CopyButton({ text, label, caption }: { text: string; label: string; caption?: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [copied]);

  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      announce('Copied');
    } catch {
      announce('The browser did not allow copying. Select the text and copy it by hand.');
    }
  };
  return (
    <button
      type="button"
      class={caption === undefined ? 'icon-button icon-button-small' : 'button button-small'}
      aria-label={caption === undefined ? label : undefined}
      title={label}
      onClick={() => void copy()}
    >
      <Icon name={copied ? 'check' : 'copy'} />
      {caption}
    </button>
  );
}
