import { downloads, hasEnded } from '../client/downloads.ts';
import { modelStatuses, startError } from '../client/localtext.ts';
import { hueOf, type Hue } from '../client/models.ts';
import { href } from '../router.ts';

interface Summary {
  name: string;
  state: string;
  hue: Hue;
  busy: boolean;
}

/** State of the engine, with a link to the models. */
export function EngineState() {
  const { name, state, hue, busy } = summary();
  return (
    <a class="engine-state" href={href('models')} data-hue={hue} title="To the models">
      <span class={`dot ${busy ? 'dot-busy' : ''}`} aria-hidden="true" />
      <span class="engine-state-text">
        <span>{name}</span> <span class="engine-state-now">{state}</span>
      </span>
    </a>
  );
}

/** A voice that has spoken is still heard. */
let lastUsed = '';

function summary(): Summary {
  if (startError.value !== null)
    return { name: 'localtext', state: 'could not start', hue: 'crimson', busy: false };
  // Ids may share weights and load together: the one that this page asked for comes first.
  const models = modelStatuses.value.toSorted((a, b) => rank(a.id) - rank(b.id));

  // A request counts as running while its model loads.
  const running = models.find((model) => model.running > 0 && model.state === 'ready');
  if (running) {
    lastUsed = running.id;
    return about(running.id, running.kind === 'chat' ? 'writing' : 'working', true);
  }
  const loading = models.find((model) => model.state === 'loading');
  if (loading)
    return about(loading.id, loading.progress?.phase === 'download' ? 'downloading' : 'loading', true);
  const allReady = models.filter((model) => model.state === 'ready');
  const ready = allReady.find(({ id }) => id === lastUsed) ?? allReady[0];
  if (ready) return about(ready.id, 'ready', false);
  // The engine does not report the load yet, or has begun again.
  const asked = Object.values(downloads.value).find((each) => each.phase !== 'ready' && !hasEnded(each));
  return asked
    ? about(asked.model, 'starting', true)
    : { name: 'no model', state: 'loaded', hue: 'slate', busy: false };
}

const about = (name: string, state: string, busy: boolean): Summary => ({
  name,
  state,
  hue: hueOf(name),
  busy,
});

const rank = (id: string): number => (downloads.value[id] ? 0 : 1);
