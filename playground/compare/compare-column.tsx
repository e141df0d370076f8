import { useSignal } from '@preact/signals';
import type { ChatSettings } from '../chat/chat-settings.ts';
import { ReplyStatsLine } from '../chat/reply-stats-line.tsx';
import { SettingsPanel } from '../chat/settings-panel.tsx';
import { Thoughts } from '../chat/thoughts.tsx';
import { WaitingLine } from '../chat/waiting-line.tsx';
import { hueOf } from '../client/models.ts';
import { Dialog } from '../components/dialog.tsx';
import { membersOf } from '../components/field.tsx';
import { IconButton } from '../components/icon-button.tsx';
import { LoadCard } from '../components/load-card.tsx';
import { ModelSelect } from '../components/model-select.tsx';
import { Markdown } from '../markdown/markdown.tsx';
import { askAgain, sides, type Side } from './compare-state.ts';
import { ErrorText } from '../components/error-text.tsx';

export function CompareColumn({ side }: { side: Side }) {
  const open = useSignal(false);
  const { settings } = side;
  const { model } = settings.value;
  return (
    <section class="card compare-column" data-hue={hueOf(model)} aria-label={`${side.name} side`}>
      <div class="row row-between compare-head">
        <ModelSelect label={`${side.name} model`} {...membersOf(settings)('model')} />
        <IconButton icon="settings" label={`${side.name} settings`} onClick={() => (open.value = true)} />
      </div>
      <SettingsLine settings={settings.value} />
      {isFirstWith(side) && <LoadCard model={model} onRetry={() => askAgain(model)} />}
      <SideReply side={side} />
      {open.value && (
        <Dialog title={`${side.name} settings`} side onClose={() => (open.value = false)}>
          <SettingsPanel settings={settings} />
        </Dialog>
      )}
    </section>
  );
}

/** One card shows the load of a model that both sides have. */
const isFirstWith = (side: Side): boolean =>
  sides.find(({ settings }) => settings.value.model === side.settings.value.model) === side;

function SettingsLine({ settings: { temperature, topP, seed, system } }: { settings: ChatSettings }) {
  return (
    <p class="figures">
      temperature {temperature} · top p {topP}
      {seed !== null && ` · seed ${seed}`}
      {system.trim() && ' · system prompt'}
    </p>
  );
}

function SideReply({ side: { settings, reply, problem, controller } }: { side: Side }) {
  const live = controller.value !== null;
  const shown = reply.value;
  return (
    <div class="compare-reply" aria-busy={live}>
      {shown?.reasoning && <Thoughts text={shown.reasoning} live={live && !shown.content} />}
      {live && !shown?.content && !shown?.reasoning && <WaitingLine model={settings.value.model} />}
      {shown ? (
        <Markdown text={shown.content} />
      ) : (
        !live && problem.value === null && <p class="quiet small">The reply appears here.</p>
      )}
      {problem.value === 'stopped' ? (
        <p class="quiet small">You stopped it here.</p>
      ) : (
        <ErrorText alert text={problem.value} model={settings.value.model} />
      )}
      {shown && !live && <ReplyStatsLine stats={shown.stats} />}
    </div>
  );
}
