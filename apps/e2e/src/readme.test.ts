import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { startCommand, startProcess } from '@rapport/testing/processes/processes.ts'
import { expect, test } from 'vitest'

const readme = readFileSync(resolve(import.meta.dirname, '../../../README.md'), 'utf8')

test('the walk-through of the README works as printed', async () => {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'rapport-readme-')))
  const [port, receiverPort] = [await findFreePort(), await findFreePort()]
  const path = `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`
  const start = await startProcess({
    script: 'apps/local/src/main.ts',
    env: { DATA_DIR: join(home, '.rapport'), PORT: String(port), PATH: path },
    readyPattern: /Inbox\s+http:\/\/localhost:(\d+)[^]*Ctrl-C stops everything/,
    timeoutMs: 60_000,
  })
  // Only the addresses differ from what is printed, as the usual ones may be taken.
  const walk = walkThrough()
    .replaceAll('localhost:3000', `localhost:${port}`)
    .replaceAll('localhost:1080', `localhost:${start.ready?.[1]}`)
    .replaceAll(/localhost([:/])4000/g, `localhost$1${receiverPort}`)
    .replaceAll('listen(4000)', `listen(${receiverPort})`)
  const terminal = await startCommand({
    command: 'bash',
    parameters: ['-e', '-c', `cd '${home}'\n${walk}`],
    env: { PATH: path, HOME: home },
  })
  const end = await terminal.exited
  const printed = terminal.stdout()
  start.kill('SIGTERM')
  await start.exited
  rmSync(home, { recursive: true })

  if (end.code !== 0) throw new Error(`The walk-through failed:\n${printed}${terminal.stderr()}`)
  expect(printed).toMatch(/verified {.*"type":"contact.created".*ada@example.com/)
  expect(printed).not.toContain('FORGED')
  expect(printed).toContain('<h1>You are subscribed</h1>')
  expect(printed).toContain('{"queued":1}')
  expect(printed).toContain('Only a DRAFT can be sent')
  expect(printed).toContain('"emailSubscribedStatus":"SUBSCRIBED"')
  expect(printed).toContain('"values":{"your-email":"mary@example.com","message":"Hello"}')
})

/** The commands in their order. Where a person would look and wait, this waits until there is something to see. */
function walkThrough(): string {
  const chapter = readme.slice(readme.indexOf('## A walk through it'), readme.indexOf('## The map'))
  const blocks = [...chapter.matchAll(/```sh\n([^]*?)```/g)].map(([, block = '']) => block)
  const [helpers, receiver, webhook, feed, subscribe, ...rest] = blocks
  return [
    helpers,
    receiver,
    'node .rapport/receiver.mjs & RECEIVER=$!',
    'trap "kill $RECEIVER" EXIT',
    'until (exec 3<>/dev/tcp/localhost/4000) 2>/dev/null; do :; done',
    webhook,
    feed,
    subscribe,
    'until curl --silent http://localhost:1080/email | grep --quiet confirm; do :; done',
    ...rest,
    'until curl --silent http://localhost:1080/email | grep --quiet "What is new, Grace"; do :; done',
  ].join('\n')
}
