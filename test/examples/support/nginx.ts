import { spawn, spawnSync } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import type { RunningServer } from './vite-server.ts';
import { findProgram } from '../../browsers/support/find-program.ts';
import { atEnd } from '../../support/at-end.ts';
import { tempFolder } from '../../support/temp-folder.ts';

/** nginx as it is installed: with its own table of MIME types, and no header of ours. It ends with the test. */
export async function startNginx(
  folders: Readonly<Record<string, string>>,
  port: number,
): Promise<RunningServer> {
  const program = findProgram('nginx');
  const folder = await tempFolder('nginx');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const locations = Object.entries(folders).map(([path, root]) => `location ${path} { alias ${root}/; }`);
  const config = `daemon off; worker_processes 1; pid ${folder}/pid; error_log stderr;
    ${process.getuid?.() === 0 ? 'user root;' : ''}
    events {}
    http {
      include ${dirname(configPath(program))}/mime.types;
      default_type application/octet-stream; access_log off; ${temporary.join(' ')}
      server { listen 127.0.0.1:${port}; ${locations.join(' ')} }
    }`;
  await writeFile(join(folder, 'nginx.conf'), config);
  const server = spawn(program, ['-c', join(folder, 'nginx.conf')], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  server.stderr.on('data', (data: Buffer) => (said += data));
  const gone = new Promise((resolve) => server.once('exit', resolve));
  const stop = async (): Promise<void> => {
    server.kill('SIGQUIT');
    await Promise.race([gone, delay(3000).then(() => server.kill('SIGKILL'))]);
    await rm(folder, { recursive: true, force: true });
  };
  atEnd(stop);
  const url = `http://localhost:${port}`;
  for (let tries = 0; tries < 100; tries++) {
    if (await fetch(url).then(Boolean, () => false)) return { url, stop };
    if (server.exitCode !== null) break;
    await delay(100);
  }
  await stop();
  throw new Error(`nginx does not answer at ${url}:\n${said}`);
}

function configPath(program: string): string {
  const { stderr } = spawnSync(program, ['-V'], { encoding: 'utf8' });
  return /--conf-path=(\S+)/.exec(stderr)?.[1] ?? '/etc/nginx/nginx.conf';
}
