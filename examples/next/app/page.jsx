'use client';

import { start } from 'localtext';
import { LocaltextProvider, ModelLoad, UpdateNotice, useLocaltext, useModel } from 'localtext/react';
import { createStore } from 'localtext/store';
import OpenAI from 'openai';
import { useRef, useState } from 'react';

const MODEL = 'amber-phoenix-4';
// Nothing starts while Next renders the page.
const store = createStore(() => start({ base: '/next/', isolation: ['./'] }));

export default function Page() {
  return (
    <LocaltextProvider store={store}>
      <Chat />
    </LocaltextProvider>
  );
}

function Chat() {
  const { localtext } = useLocaltext();
  const { state } = useModel(MODEL);
  const [reply, setReply] = useState('');
  const [end, setEnd] = useState('');
  const [busy, setBusy] = useState(false);
  const controller = useRef(null);

  async function ask(event) {
    event.preventDefault();
    setBusy(true);
    setReply('');
    setEnd('Answering…');
    controller.current = new AbortController();
    const { signal } = controller.current;
    const content = new FormData(event.target).get('prompt');
    const messages = [
      { role: 'system', content: 'You are a helpful assistant. Answer in one short English sentence.' },
      { role: 'user', content },
    ];
    try {
      const { key } = await localtext.keys.ensure({ label: 'next example' });
      const { baseURL, fetch } = localtext;
      const openai = new OpenAI({ baseURL, fetch, apiKey: key, dangerouslyAllowBrowser: true });
      // Its model card's. Greedy replies repeat themselves.
      const body = { model: MODEL, messages, temperature: 0.2, max_tokens: 100, stream: true };
      for await (const { choices } of await openai.chat.completions.create(body, { signal }))
        setReply((text) => text + (choices[0]?.delta.content ?? ''));
      // A screen reader reads this, and not each token.
      setEnd(signal.aborted ? 'Stopped.' : 'The reply is complete.');
    } catch (failure) {
      setEnd(signal.aborted ? 'Stopped.' : failure.message);
    } finally {
      setBusy(false);
    }
  }

  return (
    <main>
      <h1>localtext with Next</h1>
      <UpdateNotice className="update" />
      <ModelLoad model={MODEL} className="model" />
      <form onSubmit={ask}>
        <input name="prompt" aria-label="Prompt" defaultValue="Name the capital of France." />
        <button disabled={state !== 'ready' || busy}>Ask</button>
        <button type="button" disabled={!busy} onClick={() => controller.current.abort()}>
          Stop
        </button>
      </form>
      <div className="reply">{reply}</div>
      <output>{end}</output>
    </main>
  );
}
