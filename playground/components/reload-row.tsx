import type { Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { setAndReload } from '../client/catalog-settings.ts';

interface Props {
  setting: Signal<boolean>;
  value: boolean;
  primary?: boolean;
  children: ComponentChildren;
}

/** Button that changes what the catalog has. */
export function ReloadRow({ setting, value, primary = false, children }: Props) {
  return (
    <div class="row">
      <button
        type="button"
        class={`button ${primary ? 'button-primary' : ''}`}
        onClick={() => setAndReload(setting, value)}
      >
        {children}
      </button>
      <span class="small quiet">Reloads this page; reload the site’s other tabs too.</span>
    </div>
  );
}
