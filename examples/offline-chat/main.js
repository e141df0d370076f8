import { start } from 'localtext';
import { createStore, showModel, showUpdate } from 'localtext/store';
import OpenAI from 'openai';

const MODEL = 'amber-phoenix-4';
const SAVED = 'offline-chat:messages';
const form = document.querySelector('form');
const button = document.querySelector('form button');
const list = document.querySelector('ol');
const stop = document.querySelector('#stop');
const output = document.querySelector('output');

const messages = JSON.parse(localStorage.getItem(SAVED) ?? '[]');
for (const message of messages) show(message);
const clear = document.querySelector('#clear');
clear.addEventListener('click', () => {
  messages.length = 0;
  list.replaceChildren();
  localStorage.removeItem(SAVED);
});

// Shows a first visit's download: its size, its progress and a button to cancel it.
const store = createStore(() => start());
// Says when a new build of the site is ready: a plain reload shows the earlier one.
showUpdate(store, document.querySelector('.update'));
await showModel(store, MODEL, document.querySelector('.model'));
const localtext = await store.start();
// A key names the application. This one is the same after a reload and in every tab.
const { key } = await localtext.keys.ensure({ label: 'offline-chat example' });
const openai = new OpenAI({
  baseURL: localtext.baseURL,
  fetch: localtext.fetch,
  apiKey: key,
  dangerouslyAllowBrowser: true,
});

button.disabled = false;

let controller;
stop.addEventListener('click', () => controller.abort());

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  // A running reply would be stored after this.
  button.disabled = clear.disabled = true;
  stop.disabled = false;
  controller = new AbortController();
  const { signal } = controller;
  output.textContent = 'Answering…';
  const question = { role: 'user', content: form.elements.prompt.value };
  const entry = show(question);
  const reply = { role: 'assistant', content: '' };
  const text = show(reply);
  try {
    const body = {
      model: MODEL,
      // A small model loses the thread of a long conversation.
      messages: [
        { role: 'system', content: 'You are a helpful assistant. Answer in one short English sentence.' },
        ...messages.slice(-6),
        question,
      ],
      // Its model card's. Greedy replies repeat themselves.
      temperature: 0.2,
      max_tokens: 100,
      stream: true,
    };
    const stream = await openai.chat.completions.create(body, { signal });
    for await (const chunk of stream)
      text.textContent = reply.content += chunk.choices[0]?.delta.content ?? '';
    // What was stopped before its first token is no reply.
    if (reply.content === '') signal.throwIfAborted();
    messages.push(question, reply);
    localStorage.setItem(SAVED, JSON.stringify(messages));
    form.reset();
    // A screen reader reads this, and not each token.
    output.textContent = signal.aborted ? 'Stopped.' : 'The reply is complete.';
  } catch (error) {
    entry.remove();
    text.remove();
    output.textContent = signal.aborted ? 'Stopped.' : error.message;
  } finally {
    button.disabled = clear.disabled = false;
    stop.disabled = true;
  }
});

function show({ role, content }) {
  const entry = document.createElement('li');
  entry.className = role;
  entry.textContent = content;
  list.append(entry);
  return entry;
}
