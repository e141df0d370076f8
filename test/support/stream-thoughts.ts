type Thought<Message> = Message & { reasoning_content?: string };

/** For `page.evaluate()`: each choice's thoughts, its text, and the order in which they came. The title has the thoughts so far. */
export async function streamThoughts({ key, model, more }: { key: string; model: string; more: object }) {
  const stream = await window.client(key).chat.completions.create({
    model,
    messages: [{ role: 'user', content: 'What is the sea?' }],
    temperature: 0,
    max_tokens: 20,
    stream: true,
    stream_options: { include_usage: true },
    ...more,
  });
  const choices = [0, 1].map(() => ({ reasoning: '', text: '', order: [] as string[], finish: '' }));
  let usage;
  for await (const chunk of stream) {
    usage = chunk.usage ?? usage;
    for (const { index, delta, finish_reason: finish } of chunk.choices) {
      const choice = choices[index];
      if (!choice) continue;
      const { reasoning_content: reasoning, content }: Thought<typeof delta> = delta;
      choice.reasoning += reasoning ?? '';
      document.title = choice.reasoning;
      choice.text += content ?? '';
      const kind = reasoning ? 'reasoning' : content ? 'text' : '';
      if (kind && kind !== choice.order.at(-1)) choice.order.push(kind);
      choice.finish = finish ?? choice.finish;
    }
  }
  return { choices, usage };
}
