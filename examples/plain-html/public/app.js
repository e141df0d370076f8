import { start } from './localtext/localtext.js';
import { createStore, showModel, showUpdate } from './localtext/store.js';

const MODEL = 'amber-phoenix-4';
const form = document.querySelector('form');
const button = document.querySelector('button');
const stop = document.querySelector('#stop');
const shown = document.querySelector('.reply');
const output = document.querySelector('output');

// Shows a first visit's download: its size, its progress and a button to cancel it.
const store = createStore(() => start({ isolation: ['./'] }));
// Says when a new build of the site is ready: a plain reload shows the earlier one.
showUpdate(store, document.querySelector('.update'));
await showModel(store, MODEL, document.querySelector('.model'));
const localtext = await store.start();
// A key names the application. This one is the same after a reload and in every tab.
const { key } = await localtext.keys.ensure({ label: 'plain-html example' });

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

/** A streamed chat with nothing but `fetch`: each line `data: …` has the next piece of the reply. */
async function* chat(prompt, signal) {
  const response = await fetch('/v1/chat/completions', {
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
