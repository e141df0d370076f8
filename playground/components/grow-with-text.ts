import { useLayoutEffect } from 'preact/hooks';

/** Makes a textarea as high as its text, where CSS (`field-sizing`) cannot. */
export function useGrowWithText(input: { current: HTMLTextAreaElement | null }, text: string): void {
  useLayoutEffect(() => {
    const area = input.current;
    if (!area || CSS.supports('field-sizing', 'content')) return;
    const fit = (): void => {
      area.style.blockSize = 'auto';
      area.style.blockSize = `${area.scrollHeight}px`;
    };
    fit();
    // A narrower page breaks the text into more lines.
    addEventListener('resize', fit);
    return () => removeEventListener('resize', fit);
  }, [text]);
}
