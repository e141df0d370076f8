'use client';

import { start } from 'localtext';
import OpenAI from 'openai';
import { useEffect, useState } from 'react';

const MODEL = 'amber-phoenix-4';

export default function Page() {
  const [openai, setOpenai] = useState(null);
  const [reply, setReply] = useState('Loading…');
  const [busy, setBusy] = useState(false);

  useEffect(() => {
    connect(setOpenai, setReply);
  }, []);

  async function ask(event) {
    event.preventDefault();
    setBusy(true);
    setReply('');
    const content = new FormData(event.target).get('prompt');
    const messages = [
      { role: 'system', content: 'You are a helpful assistant.' },
      { role: 'user', content },
    ];
    try {
      const body = { model: MODEL, messages, temperature: 0, max_tokens: 100, stream: true };
      for await (const { choices } of await openai.chat.completions.create(body))
        setReply((text) => text + (choices[0]?.delta.content ?? ''));
    } catch (error) {
      setReply(error.message);
    } finally {
      setBusy(false);
    }
  }

  return (
    <main>
      <form onSubmit={ask}>
        <input name="prompt" aria-label="Prompt" defaultValue="What is the capital of France?" />
        <button disabled={!openai || busy}>Ask</button>
      </form>
      <output>{reply}</output>
    </main>
  );
}

async function connect(onClient, say) {
  try {
    const localtext = await start({ base: '/next/' });
    const { key } = await localtext.keys.ensure({ label: 'next example' });
    const { baseURL } = localtext;
    await localtext.ready(MODEL);
    onClient(new OpenAI({ baseURL, apiKey: key, dangerouslyAllowBrowser: true }));
    say('Ready.');
  } catch (error) {
    say(error.message);
  }
}
