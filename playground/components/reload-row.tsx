import type { Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { setAndReload } from '../client/catalog-settings.ts';
import { Button } from './button.tsx';

interface Props {
  setting: Signal<boolean>;
  value: boolean;
  children: ComponentChildren;
}

/** Button that changes what the catalog has. */
export function ReloadRow({ setting, value, children }: Props) {
  return (
    <div class="row">
      <Button onClick={() => setAndReload(setting, value)}>{children}</Button>
      <span class="small quiet">Reloads this page; reload the site’s other tabs too.</span>
    </div>
  );
}
