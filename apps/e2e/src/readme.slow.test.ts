import { mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { startProcess } from '@rapport/testing/processes/processes.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { expect, test } from 'vitest'
import { readExamples, runExamples } from './printed-examples.ts'

const root = resolve(import.meta.dirname, '../../..')

test('the quick start and the tutorial work as printed', async () => {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'rapport-readme-')))
  symlinkSync(join(root, 'node_modules'), join(home, 'node_modules'))
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
    const local = parseEnv(readFileSync(join(home, '.rapport/local.env'), 'utf8'))
    const running = runExamples(readSteps(), { folder: home, path })
    ;[printed] = await Promise.all([running, confirmSubscription(local)])
  } finally {
    start.kill('SIGTERM')
    await start.exited
    rmSync(home, { recursive: true })
  }

  expect(printed).toContain('"email":"ada@example.com"')
  expect(printed).toMatch(/verified contact.created {[^}]*alan@example.com/)
  expect(printed).toContain('A second time: ConflictError: 409 Only a DRAFT can be sent')
  expect(printed).toContain('Sent to 1 recipient\n')
  expect(printed).toContain('verified campaign.sent')
  expect(printed).not.toContain('WebhookSignatureError')
  expect(printed).toMatch(/To continue later: evt_/)
  expect(printed).toContain('grace@example.com SUBSCRIBED\n')
  expect(printed).toContain('November news grace@example.com')
  expect(printed).toContain("{ 'your-email': 'mary@example.com', message: 'Hello' }")
  // The receiver prints `import.completed` before, between or after these lines.
  expect(printed).toContain('Imported 1\n')
  expect(printed).toContain('Katherine katherine@example.com\n')
})

/** Presses the button in the confirmation email, as the reader does. */
async function confirmSubscription(local: NodeJS.Dict<string>): Promise<void> {
  const { RAPPORT_INBOX_URL: inboxUrl, RAPPORT_INBOX_AUTHORIZATION: authorization = '' } = local
  const link = await waitUntil(
    async () => {
      const emails = await (await fetch(`${inboxUrl}/email`, { headers: { authorization } })).text()
      return /http:[^"\s]*\/public\/subscriptions\/confirm\?token=[\w.-]*/.exec(emails)?.[0]
    },
    { describe: 'the confirmation email arrives', timeoutMs: 60_000 },
  )
  const page = await fetch(link, { method: 'POST' })
  expect(await page.text()).toContain('<h1>You are subscribed</h1>')
}

/** The commands of both pages, in order. */
function readSteps(): string {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const quickStart = readme.slice(readme.indexOf('**1. Create a contact.**'), readme.indexOf('## Concepts'))
  const tutorial = readFileSync(join(root, 'docs/tutorial.md'), 'utf8')
  return readExamples(`${quickStart}${tutorial}`)
}
