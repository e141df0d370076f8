import { downloads } from '../client/downloads.ts';
import { modelStatuses, startError } from '../client/localtext.ts';
import { hueOf } from '../client/models.ts';
import { href } from '../router.ts';

interface Summary {
  text: string;
  hue: string;
  busy: boolean;
}

/** One line on what the engine is doing, and the way to the models. */
export function EngineState() {
  const { text, hue, busy } = summary();
  return (
    <a class="engine-state" href={href('models')} data-hue={hue} title="To the models">
      <span class={`dot ${busy ? 'dot-busy' : ''}`} aria-hidden="true" />
      <span class="engine-state-text">{text}</span>
    </a>
  );
}

function summary(): Summary {
  if (startError.value !== null) return { text: 'could not start', hue: 'crimson', busy: false };
  const models = modelStatuses.value;
  const running = models.find((model) => model.running > 0);
  if (running) return { text: `${running.id} is writing`, hue: hueOf(running.id), busy: true };
  const loading = models.find((model) => model.state === 'loading');
  const download = Object.values(downloads.value).find(({ phase }) => phase === 'download');
  const progress = download ?? loading?.progress;
  if (progress && progress.totalBytes > 0) {
    const percent = Math.floor((progress.loadedBytes / progress.totalBytes) * 100);
    return { text: `${progress.model} ${percent}%`, hue: hueOf(progress.model), busy: true };
  }
  if (loading) return { text: `loading ${loading.id}`, hue: hueOf(loading.id), busy: true };
  const ready = models.filter((model) => model.state === 'ready');
  const first = ready[0];
  if (!first) return { text: 'no model loaded', hue: 'slate', busy: false };
  const others = ready.length > 1 ? ` +${ready.length - 1}` : '';
  return { text: `${first.id}${others} ready`, hue: hueOf(first.id), busy: false };
}
