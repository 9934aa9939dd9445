import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { startProcess } from '@rapport/testing/processes/processes.ts'
import { expect, test } from 'vitest'
import { readExamples, runExamples } from './printed-examples.ts'

const root = resolve(import.meta.dirname, '../../..')

test('the quick start and the tutorial work as printed', async () => {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'rapport-readme-')))
  const port = await findFreePort()
  const path = `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`
  const start = await startProcess({
    script: 'apps/local/src/main.ts',
    env: { DATA_DIR: join(home, '.rapport'), PORT: String(port), PATH: path },
    readyPattern: /Press Ctrl-C to stop/,
    timeoutMs: 60_000,
  })
  let printed: string
  try {
    printed = await runExamples(readSteps(), { folder: home, path })
  } finally {
    start.kill('SIGTERM')
    await start.exited
    rmSync(home, { recursive: true })
  }

  expect(printed).toContain(`API http://localhost:${port}`)
  expect(printed).toMatch(/verified {.*"type":"contact.created".*alan@example.com/)
  expect(printed).not.toContain('FORGED')
  expect(printed).toContain('<h1>You are subscribed</h1>')
  expect(printed).toContain('{"queued":1}')
  expect(printed).toContain('Only a DRAFT can be sent')
  expect(printed).toContain('"emailSubscribedStatus":"SUBSCRIBED"')
  expect(printed).toContain('"values":{"your-email":"mary@example.com","message":"Hello"}')
})

/** The commands of both pages, in order. */
function readSteps(): string {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const quickStart = readme.slice(readme.indexOf('**1. Get the API key.**'), readme.indexOf('## Concepts'))
  const tutorial = readFileSync(join(root, 'docs/tutorial.md'), 'utf8')
  return readExamples(`${quickStart}${tutorial}`)
}
