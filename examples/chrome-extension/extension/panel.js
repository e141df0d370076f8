import { createFetch, start } from './localtext/localtext.js';
import { createStore, showModel } from './localtext/store.js';
import { MODEL, options } from './options.js';

const form = document.querySelector('form');
const button = document.querySelector('button');
const stop = document.querySelector('#stop');
const shown = document.querySelector('.reply');
const output = document.querySelector('output');

await openEngine();

// The background worker contains localtext, as a site's own service worker does.
const serviceWorker = await navigator.serviceWorker.ready;
const store = createStore(() => start({ ...options, serviceWorker }));
await showModel(store, MODEL, document.querySelector('.model'));
const localtext = await store.start();
const { key } = await localtext.keys.ensure({ label: 'chrome-extension example' });
// Chrome may stop the background worker at any time: replies do not pass through it.
const fetchHere = createFetch(options);

button.disabled = false;

let controller;
stop.addEventListener('click', () => controller.abort());

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  button.disabled = true;
  stop.disabled = false;
  controller = new AbortController();
  const { signal } = controller;
  shown.textContent = '';
  output.textContent = 'Answering…';
  try {
    for await (const text of chat(form.elements.prompt.value, signal)) shown.textContent += text;
    // A screen reader reads this, and not each token.
    output.textContent = signal.aborted ? 'Stopped.' : 'The reply is complete.';
  } catch (error) {
    output.textContent = signal.aborted ? 'Stopped.' : error.message;
  } finally {
    button.disabled = false;
    stop.disabled = true;
  }
});

/** Opens the page that runs the engine, unless it is open. An extension has at most one offscreen page. */
async function openEngine() {
  const open = await chrome.runtime.getContexts({ contextTypes: ['OFFSCREEN_DOCUMENT'] });
  if (open.length > 0) return;
  await chrome.offscreen.createDocument({
    url: 'engine.html',
    reasons: ['WORKERS'],
    justification: 'Runs a language model in a worker while the side panel is closed.',
  });
}

/** A streamed chat with nothing but `fetch`: each line `data: …` has the next piece of the reply. */
async function* chat(prompt, signal) {
  const response = await fetchHere('/v1/chat/completions', {
    method: 'POST',
    signal,
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` },
    body: JSON.stringify({
      model: MODEL,
      messages: [
        { role: 'system', content: 'You are a helpful assistant. Answer in one short English sentence.' },
        { role: 'user', content: prompt },
      ],
      // Its model card's. Greedy replies repeat themselves.
      temperature: 0.2,
      max_tokens: 100,
      stream: true,
    }),
  });
  if (!response.ok) throw new Error((await response.json()).error.message);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new Error('The reply broke off.');
    const lines = (rest + value).split('\n');
    rest = lines.pop();
    for (const line of lines.filter((each) => each.startsWith('data: '))) {
      if (line === 'data: [DONE]') return;
      const { choices, error } = JSON.parse(line.slice('data: '.length));
      if (error) throw new Error(error.message);
      yield choices[0]?.delta.content ?? '';
    }
  }
}
