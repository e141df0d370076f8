import { expect, test } from 'vitest';

import { catalogDirectory } from '../../../../src/service/model-list/models.ts';
import type { ChatJob } from '../../../../src/jobs/chat.ts';
import { toUpstreamRequest } from '../../../../src/routing/upstream/upstream-request.ts';
import { fakeService } from '../../../support/fake-service.ts';
import { catalogOf, ggufVariant, modelOf } from '../../../support/catalogs.ts';

const CHAT = '/v1/chat/completions';
const variant = ggufVariant('v', { files: [{ path: 'w', bytes: 1, sha256: '' }] });
const seeing = ggufVariant('v', { files: [{ path: 'p', bytes: 1, sha256: '', role: 'projector' }] });
const catalog = catalogOf(modelOf('blind', [variant]), modelOf('seeing', [variant, seeing]));

const open = () => fakeService({ models: catalogDirectory(async () => catalog) });
const image = (url: string, detail?: string) => ({
  type: 'image_url',
  image_url: { url, ...(detail && { detail }) },
});
const text = (content: string) => ({ type: 'text', text: content });
const asking = (content: unknown, role = 'user') => ({ model: 'seeing', messages: [{ role, content }] });
const PIXEL = 'data:image/png;base64,AA==';

test('images keep their places between the texts, and servers get the parts as they were', async () => {
  const service = await open();
  const parts = [text('one'), text('two'), image('/a', 'low'), image('/b'), text('three'), image('/c')];
  expect((await service.fetch(CHAT, { json: asking(parts) })).status).toBe(200);
  const job = service.engine.jobs.at(-1) as ChatJob;
  expect(job.input).toEqual({
    messages: [
      {
        role: 'user',
        content: 'one\ntwothree',
        images: [
          { at: 7, url: '/a', detail: 'low', param: 'messages[0].content[2]' },
          { at: 7, url: '/b', param: 'messages[0].content[3]' },
          { at: 12, url: '/c', param: 'messages[0].content[5]' },
        ],
      },
    ],
  });
  const { body } = toUpstreamRequest(job, 'theirs');
  expect(body).toMatchObject({
    messages: [{ role: 'user', content: [text('one\ntwo'), ...parts.slice(2)] }],
  });
});

test('responses take them, and go on from them', async () => {
  const service = await open();
  const content = [
    { type: 'input_image', image_url: '/a', detail: 'high' },
    { type: 'input_text', text: 'What?' },
  ];
  const json = { model: 'seeing', input: [{ role: 'user', content }] };
  const first = await (await service.fetch('/v1/responses', { json })).json();
  const next = { model: 'seeing', input: 'And', previous_response_id: first.id };
  expect((await service.fetch('/v1/responses', { json: next })).status).toBe(200);
  const kept = { at: 0, url: '/a', detail: 'high', param: 'input[0].content[0]' };
  expect((service.engine.jobs.at(-1) as ChatJob).input).toMatchObject({
    messages: [{ role: 'user', content: 'What?', images: [kept] }, { role: 'assistant' }, { content: 'And' }],
  });
});

test('what cannot be is refused by name', async () => {
  const service = await open();
  const refusal = async (json: object) => {
    const response = await service.fetch(CHAT, { json });
    const { error } = await response.json();
    return { status: response.status, ...error };
  };
  const blind = await refusal({ ...asking([text('a'), image(PIXEL)]), model: 'blind' });
  expect(blind).toMatchObject({ status: 400, code: 'unsupported_value', param: 'messages[0].content[1]' });
  expect(blind.message).toMatch(/blind does not see\. Models that see: seeing\./);
  for (const role of ['system', 'developer', 'assistant'])
    expect(await refusal(asking([image(PIXEL)], role))).toMatchObject({ status: 400 });
  expect(await refusal(asking([image(PIXEL)], 'system'))).toMatchObject({
    status: 400,
    code: 'unsupported_value',
    param: 'messages[0].content[0].type',
  });
  expect(await refusal(asking([{ type: 'image_url', image_url: PIXEL }]))).toMatchObject({
    status: 400,
    code: 'invalid_value',
    param: 'messages[0].content[0].image_url',
  });
});

test('a body may be as large as an image', async () => {
  const service = await open();
  const status = async (path: string, json: object) => (await service.fetch(path, { json })).status;
  const url = `${PIXEL.slice(0, -4)}${'A'.repeat(20_000_000)}`;
  expect(await status(CHAT, asking([image(url)]))).toBe(200);
  expect(await status(CHAT, asking([image(`${url}${'A'.repeat(15_000_000)}`)]))).toBe(413);
  expect(await status('/v1/completions', { model: 'seeing', prompt: url })).toBe(413);
});
