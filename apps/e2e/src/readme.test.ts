import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { startCommand, startProcess } from '@rapport/testing/processes/processes.ts'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../../..')

test('the quick start and the tutorial work as printed', async () => {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'rapport-readme-')))
  const [port, receiverPort] = [await findFreePort(), await findFreePort()]
  const path = `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`
  const start = await startProcess({
    script: 'apps/local/src/main.ts',
    env: { DATA_DIR: join(home, '.rapport'), PORT: String(port), PATH: path },
    readyPattern: /Press Ctrl-C to stop/,
    timeoutMs: 60_000,
  })
  const terminal = await startCommand({
    command: 'bash',
    parameters: ['-e', '-c', `cd '${home}'\n${readSteps(receiverPort)}`],
    env: { PATH: path, HOME: home },
  })
  const end = await terminal.exited
  const printed = terminal.stdout()
  start.kill('SIGTERM')
  await start.exited
  rmSync(home, { recursive: true })

  if (end.code !== 0) throw new Error(`The steps failed:\n${printed}${terminal.stderr()}`)
  expect(printed).toContain(`API http://localhost:${port}`)
  expect(printed).toMatch(/verified {.*"type":"contact.created".*alan@example.com/)
  expect(printed).not.toContain('FORGED')
  expect(printed).toContain('<h1>You are subscribed</h1>')
  expect(printed).toContain('{"queued":1}')
  expect(printed).toContain('Only a DRAFT can be sent')
  expect(printed).toContain('"emailSubscribedStatus":"SUBSCRIBED"')
  expect(printed).toContain('"values":{"your-email":"mary@example.com","message":"Hello"}')
})

/** The commands of both pages, in order. Only the port of the receiver is replaced, as another process may use 4000. */
function readSteps(receiverPort: number): string {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const quickStart = readme.slice(readme.indexOf('**1. Get the API key.**'), readme.indexOf('## Concepts'))
  const tutorial = readFileSync(join(root, 'docs/tutorial.md'), 'utf8')
  const blocks = [...`${quickStart}${tutorial}`.matchAll(/```sh\n([^]*?)```/g)].map(([, block = '']) => block)
  return blocks
    .join('\n')
    .replaceAll(/localhost:4000/g, `localhost:${receiverPort}`)
    .replaceAll('listen(4000,', `listen(${receiverPort},`)
    .replace('node .rapport/receiver.mjs &', receiverStart(receiverPort))
}

/** A script has no person who waits for the line of the receiver, and stops the receiver at its end. */
const receiverStart = (port: number) => `node .rapport/receiver.mjs &
trap "kill $!" EXIT
until (exec 3<>/dev/tcp/localhost/${port}) 2>/dev/null; do sleep 0.1; done`
