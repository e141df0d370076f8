import { start } from 'localtext';
import { defaultCatalog, extendCatalog, voices } from 'localtext/catalog';
import { createStore, showModel, showUpdate } from 'localtext/store';
import OpenAI from 'openai';

const MODEL = 'silver-lark-4';
const button = document.querySelector('#read');
const speed = document.querySelector('#speed');
const output = document.querySelector('output');
const paragraphs = [...document.querySelectorAll('article > *')];

// Shows a first visit's download: its size, its progress and a button to cancel it.
const store = createStore(() => start({ catalog: extendCatalog(defaultCatalog, voices) }));
// Says when a new build of the site is ready: a plain reload shows the earlier one.
showUpdate(store, document.querySelector('.update'));
await showModel(store, MODEL, document.querySelector('.model'));
const localtext = await store.start();
// A key names the application. This one is the same after a reload and in every tab.
const { key } = await localtext.keys.ensure({ label: 'read-aloud example' });
const openai = new OpenAI({
  baseURL: localtext.baseURL,
  fetch: localtext.fetch,
  apiKey: key,
  dangerouslyAllowBrowser: true,
});

output.textContent = 'Ready, also without a network.';
button.disabled = false;

/** Ends what is read. */
let reading = null;
button.addEventListener('click', () => (reading ? reading.abort() : void read()));
addEventListener('keydown', ({ key: pressed }) => pressed === 'Escape' && reading?.abort());

/** Reads the article to its end. */
async function read() {
  const stop = new AbortController();
  reading = stop;
  button.textContent = 'Stop';
  output.textContent = 'Speaking…';
  try {
    let next = speak(paragraphs[0], stop.signal);
    for (const [at, paragraph] of paragraphs.entries()) {
      const sound = await next;
      // The next paragraph is spoken while this one is heard.
      next = paragraphs[at + 1] && speak(paragraphs[at + 1], stop.signal);
      // An abort rejects it, too, while nothing waits for it.
      next?.catch(() => undefined);
      await hear(sound, paragraph, stop.signal);
    }
    output.textContent = 'Read to its end.';
  } catch (error) {
    output.textContent = stop.signal.aborted ? 'Stopped.' : error.message;
  } finally {
    // After an error the next paragraph must not be spoken in vain.
    stop.abort();
    if (reading === stop) {
      reading = null;
      button.textContent = 'Read aloud';
    }
  }
}

async function speak({ innerText }, signal) {
  const request = { model: MODEL, voice: 'heart', input: innerText, speed: speed.valueAsNumber };
  const speech = await openai.audio.speech.create(request, { signal });
  return speech.blob();
}

/** Plays the sound of a paragraph, and marks the paragraph meanwhile. */
async function hear(sound, paragraph, signal) {
  signal.throwIfAborted();
  const audio = new Audio(URL.createObjectURL(sound));
  const end = () => audio.pause();
  signal.addEventListener('abort', end);
  paragraph.setAttribute('aria-current', 'true');
  try {
    const heard = new Promise((resolve, reject) => {
      audio.addEventListener('ended', resolve);
      audio.addEventListener('pause', resolve);
      audio.addEventListener('error', () => reject(audio.error));
    });
    await audio.play();
    await heard;
    signal.throwIfAborted();
  } finally {
    paragraph.removeAttribute('aria-current');
    signal.removeEventListener('abort', end);
    URL.revokeObjectURL(audio.src);
  }
}
