import { start } from 'localtext';
import { createStore, showModel } from 'localtext/store';
import OpenAI from 'openai';

const MODEL = 'amber-phoenix-4';
const SAVED = 'offline-chat:messages';
const form = document.querySelector('form');
const button = document.querySelector('form button');
const list = document.querySelector('ol');
const output = document.querySelector('output');

const messages = JSON.parse(localStorage.getItem(SAVED) ?? '[]');
for (const message of messages) show(message);
const clear = document.querySelector('#clear');
clear.addEventListener('click', () => {
  messages.length = 0;
  list.replaceChildren();
  localStorage.removeItem(SAVED);
});

// The size of the download, its progress and a button to cancel it: what a first visit shows.
const store = createStore(() => start());
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

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  // A reply that is written would be stored after all.
  button.disabled = clear.disabled = true;
  output.textContent = '';
  const question = { role: 'user', content: form.elements.prompt.value };
  const entry = show(question);
  const reply = { role: 'assistant', content: '' };
  const text = show(reply);
  try {
    const stream = await openai.chat.completions.create({
      model: MODEL,
      // A small model loses the thread of a long conversation.
      messages: [
        { role: 'system', content: 'You are a helpful assistant.' },
        ...messages.slice(-6),
        question,
      ],
      // Greedy: at its model card's 0.2, a model this small may answer in another language.
      temperature: 0,
      max_tokens: 100,
      stream: true,
    });
    for await (const chunk of stream)
      text.textContent = reply.content += chunk.choices[0]?.delta.content ?? '';
    messages.push(question, reply);
    localStorage.setItem(SAVED, JSON.stringify(messages));
    form.reset();
  } catch (error) {
    entry.remove();
    text.remove();
    output.textContent = error.message;
  } finally {
    button.disabled = clear.disabled = false;
  }
});

function show({ role, content }) {
  const entry = document.createElement('li');
  entry.className = role;
  entry.textContent = content;
  list.append(entry);
  return entry;
}
