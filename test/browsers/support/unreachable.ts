import type { Tab } from './driver.ts';

/** Scrolled areas take the focus too, so that there are more stops than controls. */
const MORE_STOPS = 12;

/** Presses Tab from the top of the page to its last control. @returns the controls that did not get the focus. */
export async function unreachable(tab: Tab): Promise<string[]> {
  const controls = await tab.evaluate(() => {
    const seen = new Set<EventTarget | null>();
    const shown = [
      ...document.querySelectorAll<HTMLElement>(
        'a[href], button:enabled, input:enabled, select, textarea, summary',
      ),
    ].filter((each) => each.checkVisibility({ visibilityProperty: true }));
    Object.assign(window, { seen, shown });
    addEventListener('focusin', ({ target }) => seen.add(target));
    (document.activeElement as HTMLElement | null)?.blur();
    // Tab starts where the selection is.
    getSelection()?.setPosition(document.body, 0);
    return shown.length;
  });
  for (let presses = 0; ; presses++) {
    // Beyond the last control some browsers give the focus to their own bars, and keep it there.
    const left = presses < controls ? [''] : await missed(tab);
    if (left.length === 0 || presses === controls + MORE_STOPS) return left;
    await tab.press('Tab');
  }
}

function missed(tab: Tab): Promise<string[]> {
  return tab.evaluate(() => {
    const { seen, shown } = window as unknown as { seen: Set<EventTarget>; shown: HTMLElement[] };
    // Arrow keys move between radio buttons of one name.
    const isOther = (each: HTMLElement): boolean =>
      each instanceof HTMLInputElement && each.type === 'radio' && !each.checked;
    return shown
      .filter((each) => !seen.has(each) && !isOther(each))
      .map((each) => each.outerHTML.slice(0, 200));
  });
}
